#include "operator/reconciler/conditions.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace freezepipe::reconciler {
namespace {

using v1alpha1::Condition;
using v1alpha1::ConditionStatus;
using v1alpha1::FreezePipeJobStatus;
using v1alpha1::JobState;

google::protobuf::Timestamp At(int seconds) {
  google::protobuf::Timestamp time;
  time.set_seconds(seconds);
  return time;
}

FreezePipeJobStatus InState(JobState::Type state, const std::string& message = "") {
  FreezePipeJobStatus status;
  status.set_state(state);
  status.set_message(message);
  return status;
}

void MoveTo(JobState::Type state, int seconds, FreezePipeJobStatus* status) {
  status->set_state(state);
  UpdateConditions(Pods::kEnded, 1, At(seconds), status);
}

/// Those that are True, in order.
std::string True(const FreezePipeJobStatus& status) {
  std::string types;
  for (const Condition& condition : status.conditions()) {
    if (condition.status() == ConditionStatus::True) types += condition.type() + " ";
  }
  return types;
}

const Condition& Of(const FreezePipeJobStatus& status, const std::string& type) {
  for (const Condition& condition : status.conditions()) {
    if (condition.type() == type) return condition;
  }
  ADD_FAILURE() << "no " << type;
  return Condition::default_instance();
}

TEST(Conditions, FollowTheState) {
  const std::map<JobState::Type, std::string> expected = {
      {JobState::Pending, ""},         {JobState::Starting, ""},
      {JobState::Running, "Running "}, {JobState::Repartitioning, "Running Repartitioning "},
      {JobState::Recovering, ""},      {JobState::Stopping, "Running "},
      {JobState::Stopped, ""},         {JobState::Succeeded, "Complete "},
      {JobState::Failed, "Failed "},   {JobState::Suspended, "Suspended "},
  };
  ASSERT_EQ(expected.size(), static_cast<size_t>(JobState::Type_ARRAYSIZE));
  for (const auto& [state, types] : expected) {
    FreezePipeJobStatus status = InState(state);
    UpdateConditions(Pods::kEnded, 3, At(1), &status);
    EXPECT_EQ(True(status), types);
    ASSERT_EQ(status.conditions_size(), 5) << "all of them, from the first visit on";
    for (const Condition& condition : status.conditions()) {
      EXPECT_EQ(condition.observed_generation(), 3);
      EXPECT_EQ(condition.reason(), JobState::Type_Name(state)) << "a reason is never empty";
    }
  }
}

TEST(Conditions, ThereIsNoEndWhileAPodMayRun) {
  for (const auto state : {JobState::Succeeded, JobState::Failed, JobState::Suspended}) {
    FreezePipeJobStatus status = InState(state);
    UpdateConditions(Pods::kMayRun, 1, At(1), &status);
    EXPECT_EQ(True(status), "");
    EXPECT_FALSE(IsOver(status));
  }
}

TEST(Conditions, ATimeMovesWithItsConditionAlone) {
  FreezePipeJobStatus status;
  MoveTo(JobState::Running, 1, &status);
  MoveTo(JobState::Repartitioning, 2, &status);
  EXPECT_EQ(Of(status, kRunning).last_transition_time().seconds(), 1);
  EXPECT_EQ(Of(status, kRepartitioning).last_transition_time().seconds(), 2);
  MoveTo(JobState::Running, 3, &status);
  EXPECT_EQ(Of(status, kRunning).last_transition_time().seconds(), 1);
  EXPECT_EQ(Of(status, kRepartitioning).last_transition_time().seconds(), 3);
  EXPECT_EQ(Of(status, kComplete).last_transition_time().seconds(), 1);
}

TEST(Conditions, TheEndIsWrittenOnce) {
  FreezePipeJobStatus status = InState(JobState::Failed, "RecordError: disk full");
  UpdateConditions(Pods::kEnded, 1, At(1), &status);
  EXPECT_TRUE(IsOver(status));
  EXPECT_EQ(Of(status, kFailed).reason(), "RecordError");
  EXPECT_EQ(Of(status, kFailed).message(), "disk full");
  const FreezePipeJobStatus end = status;
  status.set_message("something else");
  MoveTo(JobState::Running, 2, &status);
  EXPECT_EQ(True(status), "Failed ");
  EXPECT_EQ(Of(status, kFailed).SerializeAsString(), Of(end, kFailed).SerializeAsString());
}

TEST(Conditions, AReasonIsTheWordBeforeTheColon) {
  const auto explained = [](std::string_view message) {
    const Explanation explanation = Explain(message, "Failed");
    return std::string(explanation.reason) + "|" + std::string(explanation.message);
  };
  EXPECT_EQ(explained("NotFinite: loss is nan"), "NotFinite|loss is nan");
  EXPECT_EQ(explained("the data: gone"), "Failed|the data: gone");
  EXPECT_EQ(explained(": gone"), "Failed|: gone");
  EXPECT_EQ(explained(""), "Failed|");
}

}  // namespace
}  // namespace freezepipe::reconciler
