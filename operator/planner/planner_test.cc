#include "operator/planner/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/planner/test_models.h"
#include "proto/defaults.h"

namespace freezepipe::planner {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

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
  EXPECT_THAT(plan->shape.partition, ElementsAre(6, 10, 12));
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
  EXPECT_THAT(plan->shape.partition, ElementsAre(4, 8, 12));
}

TEST(MakePlanTest, ACurrentPartitionBeyondMemoryCannotStay) {
  PlanRequest request = TwelveLayersOnFour();
  request.current = Partition{2, 6, 9, 12};
  // Weights and gradients of three layers.
  request.model.memory_bytes = 600;
  request.release.set_min_gain(0.5);
  const auto plan = MakePlan(request);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->shape.partition, ElementsAre(3, 6, 9, 12));
}

TEST(MakePlanTest, ASmallGainIsNotWorthIt) {
  PlanRequest request = TwelveLayersOnFour();
  request.current = Partition{2, 6, 9, 12};  // 36 + 3 x 12 = 72 against 63
  request.release.set_min_gain(0.2);
  EXPECT_FALSE(MakePlan(request).has_value());
  request.release.set_min_gain(0.1);
  EXPECT_TRUE(MakePlan(request).has_value());
}

TEST(MakePlanTest, NothingFitsTheMemory) {
  PlanRequest request = TwelveLayersOnFour();
  request.current.reset();
  request.model.memory_bytes = 1;
  EXPECT_FALSE(MakePlan(request).has_value());
}

TEST(MakePlanTest, ReplicasShareTheHeldWorkers) {
  PlanRequest request = TwelveLayersOnFour();
  request.model.replicas = 2;
  request.current.reset();
  const auto plan = MakePlan(request);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->shape.replicas, 2);
  EXPECT_THAT(plan->shape.partition, ElementsAre(6, 12));
  EXPECT_THAT(plan->workers, ElementsAre(::testing::UnorderedElementsAre(0, 1),
                                         ::testing::UnorderedElementsAre(2, 3)));
}

TEST(MakePlanTest, FreedDevicesWidenTheJob) {
  // 12 s of work are left in layers 9 to 11 and the frozen ones are read: on one device 4 x 9 s a
  // step, on four copies of it 9 s.
  PlanRequest request = TwelveLayersOnFour();
  request.model.boundary = 9;
  request.model.frozen_work = FrozenWork::kCached;
  request.release.set_objective(v1alpha1::ReleaseObjective::Time);
  request.release.set_when_released(v1alpha1::WhenReleased::Replicate);
  const auto plan = MakePlan(request);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->shape.partition, ElementsAre(12));
  EXPECT_EQ(plan->shape.replicas, 4);
  EXPECT_NEAR(plan->step_seconds, 9, 1e-6);
  EXPECT_THAT(plan->workers, ElementsAre(::testing::UnorderedElementsAre(0, 1, 2, 3)));
}

TEST(FullShapeTest, ExactlyTheStagesAskedFor) {
  const CostModel model = ModelOf({1, 1, 1, 9}, 4);
  v1alpha1::PipelineSpec pipeline;
  pipeline.set_replicas(1);
  pipeline.set_stages(3);
  const auto shape = FullShape(model, pipeline, false, 5);
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->stages(), 3);
  EXPECT_EQ(shape->replicas, 1);
}

TEST(FullShapeTest, AsManyStagesAsDevicesAndLayersAllow) {
  v1alpha1::PipelineSpec pipeline;
  pipeline.set_replicas(2);
  EXPECT_EQ(FullShape(ModelOf(std::vector<double>(10, 1), 4), pipeline, false, 7)->stages(), 3);
  EXPECT_EQ(FullShape(ModelOf({1, 1}, 4), pipeline, false, 7)->stages(), 2);
  EXPECT_FALSE(FullShape(ModelOf({1, 1}, 4), pipeline, false, 1).has_value());
  pipeline.set_stages(3);
  EXPECT_FALSE(FullShape(ModelOf({1, 1}, 4), pipeline, false, 7).has_value());
  // Fewer devices than asked for, as after a worker has left.
  EXPECT_EQ(FullShape(ModelOf({1, 1, 1}, 4), pipeline, false, 5)->stages(), 2);
}

TEST(FullShapeTest, OpenReplicasAreChosenWithTheStages) {
  v1alpha1::PipelineSpec pipeline;
  pipeline.set_replicas(0);
  // One layer has most of the work: cutting wins little, copies win all.
  const auto copies = FullShape(ModelOf({1, 1, 1, 27}, 4), pipeline, false, 4);
  EXPECT_EQ(*copies, (Shape{{4}, 4}));
  // Where the weights don't fit one device it must be cut: two stages, two copies.
  CostModel large = ModelOf({1, 1, 1, 1}, 4);
  for (auto& layer : large.layers) layer.set_parameter_bytes(100);
  large.memory_bytes = 500;  // weights and gradients: 200 a layer
  EXPECT_EQ(*FullShape(large, pipeline, false, 4), (Shape{{2, 4}, 2}));
  pipeline.set_stages(4);
  EXPECT_EQ(*FullShape(large, pipeline, false, 4), (Shape{{1, 2, 3, 4}, 1}));
}

TEST(FullShapeTest, WhereFreedDevicesReplicateTheFirstShapeIsNoMeasure) {
  v1alpha1::PipelineSpec pipeline;
  pipeline.set_replicas(1);
  pipeline.set_stages(4);
  EXPECT_EQ(*FullShape(ModelOf({1, 1, 1, 27}, 4), pipeline, true, 3), (Shape{{4}, 2}));
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
  EXPECT_EQ(model.micro_batches, 8);
  EXPECT_EQ(model.replicas, 2);
  EXPECT_EQ(model.micro_batches_each(), 4);
  EXPECT_EQ(model.recompute, v1alpha1::Recompute::Always);
  EXPECT_EQ(model.schedule, v1alpha1::PipelineSchedule::OneForwardOneBackward);
}

/// Two layers, measured with 32 samples; the first puts out 1,000 bytes a sample.
v1alpha1::ModelProfile ProfileOfSamples(int64_t train, int64_t test) {
  v1alpha1::ModelProfile profile;
  *profile.add_layers() = Layer(3);
  profile.mutable_layers(0)->set_output_bytes(32'000);
  *profile.add_layers() = Layer(6);
  profile.set_micro_batch_size(32);
  profile.set_device("cpu");
  profile.set_train_samples(train);
  profile.set_test_samples(test);
  return profile;
}

TEST(JobTest, FrozenLayersCostNothingWhereTheirOutputsAreKept) {
  v1alpha1::FreezePipeJobSpec spec;
  spec.mutable_freeze()->mutable_cache()->set_memory_limit("100000");
  ApplyDefaults(&spec);
  const auto work = [&](const v1alpha1::ModelProfile& profile, int boundary) {
    return MakeCostModel(spec, profile, boundary).frozen_work;
  };
  EXPECT_EQ(work(ProfileOfSamples(90, 10), 1), FrozenWork::kCached);
  EXPECT_EQ(work(ProfileOfSamples(90, 10), 0), FrozenWork::kForward);
  EXPECT_EQ(work(ProfileOfSamples(90, 11), 1), FrozenWork::kForward);
  auto& cache = *spec.mutable_freeze()->mutable_cache();
  cache.set_dtype(v1alpha1::CacheType::BFloat16);
  EXPECT_EQ(work(ProfileOfSamples(190, 10), 1), FrozenWork::kCached);
  EXPECT_EQ(work(ProfileOfSamples(191, 10), 1), FrozenWork::kForward);
  cache.set_dtype(v1alpha1::CacheType::Full);
  cache.set_disk_limit("110000");
  EXPECT_EQ(work(ProfileOfSamples(100, 10), 1), FrozenWork::kCached);
  EXPECT_EQ(work(ProfileOfSamples(101, 10), 1), FrozenWork::kForward);
  cache.set_disk_limit("0");
  auto on_gpu = ProfileOfSamples(90, 10);
  on_gpu.set_device("cuda:0");
  EXPECT_EQ(work(on_gpu, 1), FrozenWork::kForward);
  // New variants of each sample for ever; two of them: 2 x 45 + 10 samples.
  spec.mutable_dataset()->mutable_augmentation()->set_random_horizontal_flip(true);
  EXPECT_EQ(work(ProfileOfSamples(45, 10), 1), FrozenWork::kForward);
  spec.mutable_freeze()->mutable_cache()->set_views(2);
  EXPECT_EQ(work(ProfileOfSamples(45, 10), 1), FrozenWork::kCached);
  EXPECT_EQ(work(ProfileOfSamples(46, 10), 1), FrozenWork::kForward);
}

}  // namespace
}  // namespace freezepipe::planner
