#include "operator/reconciler/job_status.h"

#include <google/protobuf/util/time_util.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "operator/report/json.h"

namespace freezepipe::reconciler {
namespace {

using google::protobuf::Timestamp;
using kube::Json;
using v1alpha1::FreezePipeJobStatus;
using v1alpha1::JobState;

bool HasEnded(JobState::Type state) {
  return state == JobState::Succeeded || state == JobState::Failed;
}

/// Pod and node of each worker that has a stage.
std::map<int, std::pair<std::string, std::string>> PlacesOf(const FreezePipeJobStatus& status) {
  std::map<int, std::pair<std::string, std::string>> places;
  for (const auto& stage : status.stages()) {
    const int known = std::min({stage.workers_size(), stage.pods_size(), stage.nodes_size()});
    for (int i = 0; i < known; ++i) places[stage.workers(i)] = {stage.pods(i), stage.nodes(i)};
  }
  return places;
}

}  // namespace

absl::StatusOr<FreezePipeJobStatus> ReadStatus(const Json& job) {
  FreezePipeJobStatus status;
  const absl::Status read =
      report::FromJson(kube::JsonText(job.value("status", Json::object())), &status);
  if (!read.ok()) return read;
  return status;
}

FreezePipeJobStatus CarryOn(const FreezePipeJobStatus& session, const FreezePipeJobStatus& before) {
  FreezePipeJobStatus status = session;
  if (before.has_start_time()) *status.mutable_start_time() = before.start_time();
  if (before.has_completion_time()) *status.mutable_completion_time() = before.completion_time();
  *status.mutable_conditions() = before.conditions();
  if (before.has_desired_workers()) status.set_desired_workers(before.desired_workers());
  if (before.has_ready_workers()) status.set_ready_workers(before.ready_workers());
  if (before.has_device_seconds_held()) {
    status.set_device_seconds_held(before.device_seconds_held());
  }
  if (before.has_device_seconds_saved()) {
    status.set_device_seconds_saved(before.device_seconds_saved());
  }
  auto places = PlacesOf(before);
  for (auto& stage : *status.mutable_stages()) {
    for (const int worker : stage.workers()) {
      // Not known yet: empty, so that each list has one entry a worker.
      stage.add_pods(places[worker].first);
      stage.add_nodes(places[worker].second);
    }
  }
  return status;
}

void CompleteStatus(Pods pods, int term, int observed_generation, kube::WallTime now,
                    FreezePipeJobStatus* status) {
  const Timestamp time = ToTimestamp(now);
  status->set_term(term);
  status->set_observed_generation(observed_generation);
  if (!status->has_start_time() && status->state() != JobState::Suspended) {
    *status->mutable_start_time() = time;
  }
  if (!HasEnded(status->state())) {
    status->clear_completion_time();
  } else if (!status->has_completion_time()) {
    *status->mutable_completion_time() = time;
  }
  UpdateConditions(pods, observed_generation, time, status);
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

Timestamp ToTimestamp(kube::WallTime time) {
  return google::protobuf::util::TimeUtil::TimeTToTimestamp(
      std::chrono::system_clock::to_time_t(time));
}

}  // namespace freezepipe::reconciler
