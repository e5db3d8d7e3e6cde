#include "worker/train/lead_orders.h"

#include <gtest/gtest.h>

namespace freezepipe::worker {
namespace {

v1alpha1::FreezeLogEntry Entry(int chosen_at, int frozen_at, int boundary) {
  v1alpha1::FreezeLogEntry entry;
  entry.set_chosen_at(chosen_at);
  entry.set_frozen_at(frozen_at);
  entry.set_boundary(boundary);
  return entry;
}

TEST(LeadOrders, AnEntryInTimeKeepsItsSteps) {
  LeadOrders orders;
  orders.ScheduleFreeze(Entry(12, 20, 3));
  StepHeader header{.step = 11, .generation = 1};
  orders.PutInto(&header);
  EXPECT_EQ(header.new_boundary, 3);
  EXPECT_EQ(header.chosen_at, 12);
  EXPECT_EQ(header.frozen_at, 20);
  StepHeader next{.step = 12, .generation = 1};
  orders.PutInto(&next);
  EXPECT_EQ(next.new_boundary, 0) << "once";
}

TEST(LeadOrders, ALateEntryMovesWithItsCoolDown) {
  LeadOrders orders;
  orders.ScheduleFreeze(Entry(12, 20, 3));
  StepHeader header{.step = 15, .generation = 1};
  orders.PutInto(&header);
  EXPECT_EQ(header.chosen_at, 15);
  EXPECT_EQ(header.frozen_at, 23);
}

TEST(LeadOrders, ASwitchComesBeforeAStop) {
  LeadOrders orders;
  orders.Switch(2);
  orders.Stop();
  StepHeader header{.step = 5, .generation = 1};
  orders.PutInto(&header);
  EXPECT_EQ(header.generation, 2);
  EXPECT_EQ(header.stop, 0);
  StepHeader again{.step = 5, .generation = 2};
  orders.PutInto(&again);
  EXPECT_EQ(again.generation, 2);
  EXPECT_EQ(again.stop, 1);
}

TEST(LeadOrders, ASwitchToAGenerationInForceDoesNothing) {
  LeadOrders orders;
  orders.Switch(2);
  StepHeader header{.step = 5, .generation = 2};
  orders.PutInto(&header);
  EXPECT_EQ(header.generation, 2);
}

}  // namespace
}  // namespace freezepipe::worker
