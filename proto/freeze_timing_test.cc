#include "proto/freeze_timing.h"

#include <gtest/gtest.h>

namespace freezepipe {
namespace {

v1alpha1::FreezeLogEntry Entry(int chosen_at, int frozen_at, int boundary) {
  v1alpha1::FreezeLogEntry entry;
  entry.set_chosen_at(chosen_at);
  entry.set_frozen_at(frozen_at);
  entry.set_boundary(boundary);
  return entry;
}

TEST(FreezeTiming, TheBoundaryMovesWhereAnEntryIsFrozen) {
  const std::vector log = {Entry(10, 20, 2), Entry(15, 30, 3)};
  EXPECT_EQ(BoundaryAt(log, 19), 0);
  EXPECT_EQ(BoundaryAt(log, 20), 2);
  EXPECT_EQ(BoundaryAt(log, 30), 3);
}

TEST(FreezeTiming, ALayerCoolsDownFromItsChoiceToItsFreeze) {
  const std::vector log = {Entry(10, 20, 2), Entry(15, 35, 3)};
  EXPECT_EQ(CoolDownFactor(log, 0, 10), 1);
  EXPECT_DOUBLE_EQ(CoolDownFactor(log, 1, 15), 0.5);
  EXPECT_EQ(CoolDownFactor(log, 1, 20), 0);
  EXPECT_DOUBLE_EQ(CoolDownFactor(log, 2, 20), 0.75);
  EXPECT_EQ(CoolDownFactor(log, 3, 100), 1);
}

TEST(FreezeTiming, AFreezeWithoutCoolDown) {
  const std::vector log = {Entry(10, 10, 1)};
  EXPECT_EQ(CoolDownFactor(log, 0, 9), 1);
  EXPECT_EQ(CoolDownFactor(log, 0, 10), 0);
}

TEST(FreezeTiming, AWindowIsAtLeastOneStep) {
  v1alpha1::FreezeSpec spec;
  spec.set_windows_per_epoch(4);
  EXPECT_EQ(WindowSteps(spec, 78), 19);
  EXPECT_EQ(WindowSteps(spec, 3), 1);
}

}  // namespace
}  // namespace freezepipe
