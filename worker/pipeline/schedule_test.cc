#include "worker/pipeline/schedule.h"

#include <gtest/gtest.h>

#include <string>

namespace freezepipe::worker {
namespace {

using v1alpha1::PipelineSchedule;

std::string Text(const std::vector<PipelineAction>& actions) {
  std::string text;
  for (const auto& action : actions) {
    text += action.kind == PipelineAction::Kind::kForward ? "F" : "B";
    text += std::to_string(action.micro_batch) + " ";
  }
  return text;
}

TEST(Schedule, GPipeRunsAllForwardPassesFirstAndBackwardAscending) {
  EXPECT_EQ(Text(MakeSchedule(PipelineSchedule::GPipe, 0, 2, {0, 1, 2}, true)),
            "F0 F1 F2 B0 B1 B2 ");
}

TEST(Schedule, OneForwardOneBackwardFillsByDistanceFromTheLastStage) {
  const auto type = PipelineSchedule::OneForwardOneBackward;
  EXPECT_EQ(Text(MakeSchedule(type, 0, 3, {0, 1, 2, 3}, true)), "F0 F1 F2 B0 F3 B1 B2 B3 ");
  EXPECT_EQ(Text(MakeSchedule(type, 2, 3, {0, 1, 2, 3}, true)), "F0 B0 F1 B1 F2 B2 F3 B3 ");
}

TEST(Schedule, FewerMicroBatchesThanStages) {
  const auto type = PipelineSchedule::OneForwardOneBackward;
  EXPECT_EQ(Text(MakeSchedule(type, 0, 4, {5}, true)), "F5 B5 ");
  EXPECT_EQ(Text(MakeSchedule(type, 0, 4, {}, true)), "");
}

TEST(Schedule, AFrozenStageOnlyGoesForward) {
  for (const auto type : {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward}) {
    EXPECT_EQ(Text(MakeSchedule(type, 0, 2, {2, 3}, false)), "F2 F3 ");
  }
}

}  // namespace
}  // namespace freezepipe::worker
