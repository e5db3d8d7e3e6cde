#include "operator/reconciler/conditions.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <string>

namespace freezepipe::reconciler {
namespace {

using v1alpha1::Condition;
using v1alpha1::ConditionStatus;
using v1alpha1::FreezePipeJobStatus;
using v1alpha1::JobState;

const Condition* Find(const FreezePipeJobStatus& status, std::string_view type) {
  for (const Condition& condition : status.conditions()) {
    if (condition.type() == type) return &condition;
  }
  return nullptr;
}

bool IsTrue(const FreezePipeJobStatus& status, std::string_view type) {
  const Condition* condition = Find(status, type);
  return condition != nullptr && condition->status() == ConditionStatus::True;
}

/// Whether a condition of this type is so in the state.
bool Holds(std::string_view type, JobState::Type state, Pods pods) {
  if (type == kRunning) {
    return state == JobState::Running || state == JobState::Repartitioning ||
           state == JobState::Stopping;
  }
  if (type == kRepartitioning) return state == JobState::Repartitioning;
  if (pods == Pods::kMayRun) return false;
  if (type == kSuspended) return state == JobState::Suspended;
  if (type == kComplete) return state == JobState::Succeeded;
  return state == JobState::Failed;
}

Condition MakeCondition(std::string_view type, const FreezePipeJobStatus& status, Pods pods,
                        int observed_generation, const google::protobuf::Timestamp& now) {
  const std::string& state = JobState::Type_Name(status.state());
  const bool holds = Holds(type, status.state(), pods);
  // What isn't so needs no explanation, but that a job doesn't run.
  const bool explained = holds || type == kRunning;
  const Explanation explanation =
      explained ? Explain(status.message(), state) : Explanation{state, ""};
  Condition condition;
  condition.set_type(std::string(type));
  condition.set_status(holds ? ConditionStatus::True : ConditionStatus::False);
  condition.set_observed_generation(observed_generation);
  condition.set_reason(std::string(explanation.reason));
  condition.set_message(std::string(explanation.message));
  const Condition* before = Find(status, type);
  const bool same = before != nullptr && before->status() == condition.status();
  *condition.mutable_last_transition_time() = same ? before->last_transition_time() : now;
  return condition;
}

}  // namespace

bool IsOver(const FreezePipeJobStatus& status) {
  return IsTrue(status, kComplete) || IsTrue(status, kFailed);
}

void UpdateConditions(Pods pods, int observed_generation, const google::protobuf::Timestamp& now,
                      FreezePipeJobStatus* status) {
  if (IsOver(*status)) return;
  FreezePipeJobStatus updated;
  for (const char* type : {kSuspended, kRunning, kRepartitioning, kComplete, kFailed}) {
    *updated.add_conditions() = MakeCondition(type, *status, pods, observed_generation, now);
  }
  status->mutable_conditions()->Swap(updated.mutable_conditions());
}

Explanation Explain(std::string_view message, std::string_view otherwise) {
  const size_t colon = message.find(": ");
  if (colon == std::string_view::npos || colon == 0) return {otherwise, message};
  const std::string_view word = message.substr(0, colon);
  const bool camel_case =
      absl::ascii_isupper(word[0]) && std::all_of(word.begin(), word.end(), absl::ascii_isalnum);
  if (!camel_case) return {otherwise, message};
  return {word, message.substr(colon + 2)};
}

}  // namespace freezepipe::reconciler
