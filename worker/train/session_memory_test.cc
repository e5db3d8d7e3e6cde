#include "worker/train/session_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freezepipe::worker {
namespace {

using testing::ElementsAre;

v1alpha1::Remember Windows(int after_step, const std::vector<int>& steps) {
  v1alpha1::Remember order;
  order.set_after_step(after_step);
  for (const int step : steps) order.mutable_memory()->add_windows()->set_step(step);
  return order;
}

std::vector<int> StepsOf(const v1alpha1::Memory& memory) {
  std::vector<int> steps;
  for (const auto& window : memory.windows()) steps.push_back(window.step());
  return steps;
}

TEST(SessionMemory, WindowsAreAppendedAndTakeThePlaceOfThoseThatComeAgain) {
  v1alpha1::Memory memory;
  Remember(Windows(0, {10, 20}), &memory);
  Remember(Windows(20, {30}), &memory);
  EXPECT_THAT(StepsOf(memory), ElementsAre(10, 20, 30));
  // Training went back to step 15.
  Remember(Windows(10, {}), &memory);
  EXPECT_THAT(StepsOf(memory), ElementsAre(10));
  Remember(Windows(0, {10, 20}), &memory);
  EXPECT_THAT(StepsOf(memory), ElementsAre(10, 20));
}

TEST(SessionMemory, ProfileAndBaselineStayUntilOthersAreGiven) {
  v1alpha1::Memory memory;
  v1alpha1::Remember order;
  order.mutable_memory()->mutable_profile()->add_layers()->set_name("conv1");
  order.mutable_memory()->set_baseline_step_seconds(2);
  Remember(order, &memory);
  Remember(order, &memory);
  Remember(Windows(0, {10}), &memory);
  EXPECT_EQ(memory.profile().layers_size(), 1);
  EXPECT_EQ(memory.baseline_step_seconds(), 2);
}

}  // namespace
}  // namespace freezepipe::worker
