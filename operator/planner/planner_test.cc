#include "operator/planner/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/planner/test_models.h"
#include "proto/defaults.h"

namespace freezepipe::planner {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

std::vector<HeldWorker> Idle(int workers) {
  std::vector<HeldWorker> held;
  for (int w = 0; w < workers; ++w) held.push_back({w, "node", {}});
  return held;
}

/// Twelve layers of 3 s on four workers, three layers each.
PlanRequest TwelveLayersOnFour() {
  PlanRequest request;
  request.model = ModelOf(std::vector<double>(12, 3), 4);
  for (auto& layer : request.model.layers) layer.set_parameter_bytes(100);
  ApplyDefaults(&request.release);
  request.current = Partition{3, 6, 9, 12};
  request.baseline = MakeBaseline(request.model, *request.current);
  for (int w = 0; w < 4; ++w) request.held.push_back({w, "node", {3 * w, 3 * w + 1, 3 * w + 2}});
  return request;
}

TEST(MakePlanTest, NothingChangesBeforeAFreeze) {
  EXPECT_FALSE(MakePlan(TwelveLayersOnFour()).has_value());
}

TEST(MakePlanTest, AFrozenPrefixFreesADevice) {
  // Nine frozen layers of 1 s, three active ones of 3 s: half of the work is left. T(2) = 18 + 3 x
  // 9 = 45 is at most 63 sqrt(1/2) = 44.5? No. T(3) = 18 + 3 x 6 = 36 is.
  PlanRequest request = TwelveLayersOnFour();
  request.model.boundary = 9;
  const auto plan = MakePlan(request);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->partition, ElementsAre(6, 10, 12));
  EXPECT_THAT(plan->stage_seconds,
              ElementsAre(DoubleNear(6, 1e-9), DoubleNear(6, 1e-9), DoubleNear(6, 1e-9)));
  EXPECT_NEAR(plan->step_seconds, 36, 1e-9);
  // Workers 0 and 1 hold half of stage 0 each; 2 and 3 stay where most of their bytes are.
  EXPECT_THAT(plan->workers, ElementsAre(ElementsAre(0), ElementsAre(2), ElementsAre(3)));
}

TEST(MakePlanTest, ACurrentPartitionThatNeedsLostWorkersCannotStay) {
  PlanRequest request = TwelveLayersOnFour();
  request.held.erase(request.held.begin() + 1);
  const auto plan = MakePlan(request);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->partition, ElementsAre(4, 8, 12));
}

TEST(MakePlanTest, ACurrentPartitionBeyondMemoryCannotStay) {
  PlanRequest request = TwelveLayersOnFour();
  request.current = Partition{2, 6, 9, 12};
  // Weights and gradients of three layers.
  request.model.memory_bytes = 600;
  request.release.set_min_gain(0.5);
  const auto plan = MakePlan(request);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->partition, ElementsAre(3, 6, 9, 12));
}

TEST(MakePlanTest, ASmallGainIsNotWorthIt) {
  PlanRequest request = TwelveLayersOnFour();
  request.current = Partition{2, 6, 9, 12};  // 36 + 3 x 12 = 72 against 63
  request.release.set_min_gain(0.2);
  EXPECT_FALSE(MakePlan(request).has_value());
  request.release.set_min_gain(0.1);
  EXPECT_TRUE(MakePlan(request).has_value());
}

TEST(MakePlanTest, KeepsToMaxStages) {
  PlanRequest request = TwelveLayersOnFour();
  request.max_stages = 2;
  const auto plan = MakePlan(request);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->partition, ElementsAre(6, 12));
}

TEST(MakePlanTest, NothingFitsTheMemory) {
  PlanRequest request = TwelveLayersOnFour();
  request.current.reset();
  request.model.memory_bytes = 1;
  EXPECT_FALSE(MakePlan(request).has_value());
}

TEST(MakePlanTest, ReplicasShareTheHeldWorkers) {
  PlanRequest request = TwelveLayersOnFour();
  request.replicas = 2;
  request.current.reset();
  const auto plan = MakePlan(request);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->partition, ElementsAre(6, 12));
  EXPECT_THAT(plan->workers, ElementsAre(::testing::UnorderedElementsAre(0, 1),
                                         ::testing::UnorderedElementsAre(2, 3)));
}

TEST(MakeInitialPlanTest, ExactlyTheStagesAskedFor) {
  const CostModel model = ModelOf({1, 1, 1, 9}, 4);
  const auto plan = MakeInitialPlan(model, 1, Idle(5), 3);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->partition.size(), 3u);
  EXPECT_THAT(plan->workers, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

TEST(MakeInitialPlanTest, NeedsWorkersAndLayers) {
  const CostModel model = ModelOf({1, 1, 1}, 4);
  EXPECT_FALSE(MakeInitialPlan(model, 2, Idle(5), 3).has_value());
  EXPECT_FALSE(MakeInitialPlan(model, 1, Idle(5), 4).has_value());
  EXPECT_TRUE(MakeInitialPlan(model, 2, Idle(6), 3).has_value());
}

TEST(JobTest, InitialStages) {
  v1alpha1::FreezePipeJobSpec spec;
  spec.mutable_worker()->set_count(7);
  spec.mutable_pipeline()->set_replicas(2);
  ApplyDefaults(&spec);
  EXPECT_EQ(InitialStages(spec, 10), 3);
  EXPECT_EQ(InitialStages(spec, 2), 2);
  spec.mutable_pipeline()->set_stages(1);
  EXPECT_EQ(InitialStages(spec, 10), 1);
}

TEST(JobTest, CostModelFollowsTheManifest) {
  v1alpha1::FreezePipeJobSpec spec;
  spec.mutable_pipeline()->set_replicas(2);
  spec.mutable_pipeline()->set_micro_batches(8);
  spec.mutable_pipeline()->set_recompute(v1alpha1::Recompute::Always);
  spec.mutable_pipeline()->set_schedule(v1alpha1::PipelineSchedule::OneForwardOneBackward);
  ApplyDefaults(&spec);
  v1alpha1::ModelProfile profile;
  *profile.add_layers() = Layer(3);
  *profile.add_layers() = Layer(6);
  const CostModel model = MakeCostModel(spec, profile, 1);
  EXPECT_EQ(model.layers.size(), 2u);
  EXPECT_EQ(model.boundary, 1);
  EXPECT_EQ(model.micro_batches, 4);
  EXPECT_EQ(model.recompute, v1alpha1::Recompute::Always);
  EXPECT_EQ(model.schedule, v1alpha1::PipelineSchedule::OneForwardOneBackward);
}

}  // namespace
}  // namespace freezepipe::planner
