#include "worker/freeze/weight_version.h"

#include <gtest/gtest.h>

namespace freezepipe::worker {
namespace {

using Log = std::vector<v1alpha1::FreezeLogEntry>;

v1alpha1::FreezeLogEntry Entry(int chosen_at, int frozen_at, int boundary) {
  v1alpha1::FreezeLogEntry entry;
  entry.set_chosen_at(chosen_at);
  entry.set_frozen_at(frozen_at);
  entry.set_boundary(boundary);
  return entry;
}

TEST(WeightVersionTest, LevelsThatFreezeTogetherShareTheirs) {
  const Log log = {Entry(4, 10, 3), Entry(20, 30, 6)};
  EXPECT_EQ(WeightVersion(log, 2), WeightVersion(log, 3));
  EXPECT_NE(WeightVersion(log, 3), WeightVersion(log, 4));
  EXPECT_EQ(WeightVersion(log, 7), std::nullopt);
  EXPECT_EQ(WeightVersion({}, 1), std::nullopt);
}

TEST(WeightVersionTest, WhatFreezesAfterwardsChangesNothing) {
  EXPECT_EQ(WeightVersion({Entry(4, 10, 3)}, 3),
            WeightVersion({Entry(4, 10, 3), Entry(10, 30, 6)}, 3));
}

TEST(WeightVersionTest, AnotherLogIsAnotherVersion) {
  const auto version = WeightVersion({Entry(4, 10, 3), Entry(20, 30, 6)}, 6);
  EXPECT_NE(version, WeightVersion({Entry(4, 11, 3), Entry(20, 30, 6)}, 6)) << "frozen below";
  EXPECT_NE(version, WeightVersion({Entry(4, 10, 3), Entry(21, 30, 6)}, 6));
  EXPECT_NE(version, WeightVersion({Entry(20, 30, 6)}, 6));
  EXPECT_NE(version, WeightVersion({Entry(4, 10, 3), Entry(20, 30, 6), Entry(29, 40, 7)}, 6))
      << "layers behind cooled down while these still learned";
}

}  // namespace
}  // namespace freezepipe::worker
