#include "operator/reconciler/job_status.h"

#include <google/protobuf/util/time_util.h>

#include <chrono>

#include "operator/reconciler/conditions.h"
#include "operator/report/json.h"

namespace freezepipe::reconciler {
namespace {

using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;
using kube::Json;
using v1alpha1::FreezePipeJobStatus;

bool IsLast(v1alpha1::JobState::Type state) {
  return state == v1alpha1::JobState::Succeeded || state == v1alpha1::JobState::Failed ||
         state == v1alpha1::JobState::Stopped;
}

}  // namespace

absl::StatusOr<FreezePipeJobStatus> ReadStatus(const Json& job) {
  FreezePipeJobStatus status;
  const absl::Status read = report::FromJson(job.value("status", Json::object()).dump(), &status);
  if (!read.ok()) return read;
  return status;
}

FreezePipeJobStatus CompleteStatus(const FreezePipeJobStatus& session,
                                   const FreezePipeJobStatus& before, int term,
                                   int observed_generation, kube::WallTime now) {
  // Conditions have whole seconds, as everywhere in Kubernetes.
  const Timestamp time = TimeUtil::TimeTToTimestamp(std::chrono::system_clock::to_time_t(now));
  FreezePipeJobStatus status = session;
  status.set_term(term);
  status.set_observed_generation(observed_generation);
  *status.mutable_start_time() = before.has_start_time() ? before.start_time() : time;
  if (IsLast(status.state())) {
    const bool known = before.state() == status.state() && before.has_completion_time();
    *status.mutable_completion_time() = known ? before.completion_time() : time;
  }
  *status.mutable_conditions() = before.conditions();
  UpdateConditions(observed_generation, time, &status);
  return status;
}

Json StatusPatch(const Json& job, const FreezePipeJobStatus& status) {
  Json fields = Json::parse(report::ToJson(status, report::JsonLayout::kOneLine));
  // What stands there and isn't so any more goes.
  const Json before = job.value("status", Json::object());
  for (const auto& [name, value] : before.items()) {
    if (!fields.contains(name)) fields[name] = nullptr;
  }
  return {{"metadata", {{"resourceVersion", kube::ResourceVersion(job)}}},
          {"status", std::move(fields)}};
}

}  // namespace freezepipe::reconciler
