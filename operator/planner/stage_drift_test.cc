#include "operator/planner/stage_drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freezepipe::planner {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Optional;

/// So many windows of `seconds`, in each of which the stages were busy so long.
std::vector<StageTimes> Windows(int count, double seconds, std::vector<double> busy) {
  return std::vector<StageTimes>(count, {seconds, std::move(busy)});
}

TEST(StageDriftTest, AStageThatTakesMoreOfTheWorkThanPredicted) {
  // Predicted 1 : 1, measured 1 : 1.5.
  EXPECT_THAT(StageDrift({0.02, 0.02}, Windows(4, 2, {1, 1.5})),
              Optional(ElementsAre(DoubleNear(0.8, 1e-9), DoubleNear(1.2, 1e-9))));
}

TEST(StageDriftTest, AllAsMuchSlowerIsNoDrift) {
  EXPECT_FALSE(StageDrift({0.02, 0.01}, Windows(4, 20, {12, 6})).has_value());
}

TEST(StageDriftTest, ATenthIsNothing) {
  EXPECT_FALSE(StageDrift({1, 1}, Windows(4, 2, {0.91, 1.09})).has_value());
  EXPECT_TRUE(StageDrift({1, 1}, Windows(4, 2, {0.89, 1.11})).has_value());
}

TEST(StageDriftTest, FewOrShortWindowsDoNotTell) {
  EXPECT_FALSE(StageDrift({1, 1}, Windows(3, 9, {1, 2})).has_value());
  EXPECT_FALSE(StageDrift({1, 1}, Windows(6, 0.8, {1, 2})).has_value());
  EXPECT_TRUE(StageDrift({1, 1}, Windows(7, 0.8, {1, 2})).has_value());
}

TEST(StageDriftTest, AStageWithoutWorkIsNeverWrong) {
  EXPECT_FALSE(StageDrift({0, 1}, Windows(4, 2, {0.05, 1})).has_value());
}

TEST(StageDriftTest, OnlyTheNewestWindowsThatAreEnoughCount) {
  auto windows = Windows(50, 2, {1, 1});
  for (int i = 0; i < 4; ++i) windows.push_back({2, {1, 1.5}});
  KeepNewest(windows);
  EXPECT_EQ(windows.size(), 4u);
  EXPECT_TRUE(StageDrift({1, 1}, windows).has_value());
  auto short_ones = Windows(50, 0.5, {1, 1});
  KeepNewest(short_ones);
  EXPECT_EQ(short_ones.size(), 10u);
  auto few = Windows(3, 9, {1, 1});
  KeepNewest(few);
  EXPECT_EQ(few.size(), 3u);
}

TEST(StageDriftTest, OneBadWindowDoesNotTell) {
  auto windows = Windows(4, 2, {1, 1});
  windows[2].busy_seconds = {1, 9};
  EXPECT_FALSE(StageDrift({1, 1}, windows).has_value());
}

}  // namespace
}  // namespace freezepipe::planner
