#include "operator/planner/cost_model.h"

#include <gtest/gtest.h>

namespace freezepipe::planner {
namespace {

/// Three layers: forward 1, 2, 4 s; backward 10, 20, 40 s; outputs of 100, 200, 400 bytes at 100
/// bytes a second; saved 3, 5, 7; parameters 1000, 2000, 4000; optimizer slots 10000, 20000, 40000.
CostModel ThreeLayers() {
  CostModel model;
  const int saved[] = {3, 5, 7};
  for (int i = 0; i < 3; ++i) {
    const int scale = 1 << i;
    v1alpha1::LayerProfile layer;
    layer.set_forward_seconds(scale);
    layer.set_backward_seconds(10 * scale);
    layer.set_output_bytes(100 * scale);
    layer.set_saved_bytes(saved[i]);
    layer.set_parameter_bytes(1000 * scale);
    layer.set_optimizer_bytes(10000 * scale);
    model.layers.push_back(layer);
  }
  model.bytes_per_second = 100;
  model.micro_batches = 4;
  return model;
}

TEST(CostModelTest, ActiveLayersRunForwardAndBackward) {
  EXPECT_EQ(StageSeconds(ThreeLayers(), 0, 2), 11 + 22);
}

TEST(CostModelTest, OnlyLaterStagesReceiveTheirInput) {
  EXPECT_EQ(StageSeconds(ThreeLayers(), 1, 3), 1 + 22 + 44);
  EXPECT_EQ(StageSeconds(ThreeLayers(), 2, 3), 2 + 44);
}

TEST(CostModelTest, FrozenLayersRunForwardOnly) {
  CostModel model = ThreeLayers();
  model.boundary = 2;
  EXPECT_EQ(StageSeconds(model, 0, 3), 1 + 2 + 44);
  EXPECT_EQ(StageSeconds(model, 1, 2), 1 + 2);
}

TEST(CostModelTest, TheFirstActiveLayerComputesNoGradientOfItsInput) {
  CostModel model = ThreeLayers();
  model.layers[1].set_first_active_backward_seconds(12);
  model.layers[2].set_first_active_backward_seconds(25);
  EXPECT_EQ(StageSeconds(model, 0, 3), 11 + 22 + 44);
  model.boundary = 1;
  EXPECT_EQ(StageSeconds(model, 0, 3), 1 + (2 + 12) + 44);
  model.boundary = 2;
  EXPECT_EQ(StageSeconds(model, 0, 3), 1 + 2 + (4 + 25));
}

TEST(CostModelTest, ACachedPrefixCostsNothingAndReceivesNothing) {
  CostModel model = ThreeLayers();
  model.boundary = 2;
  model.frozen_work = FrozenWork::kCached;
  EXPECT_EQ(StageSeconds(model, 0, 2), 0);
  EXPECT_EQ(StageSeconds(model, 1, 3), 44);
  EXPECT_EQ(StageSeconds(model, 2, 3), 44);
  model.boundary = 1;
  EXPECT_EQ(StageSeconds(model, 2, 3), 2 + 44);
}

TEST(CostModelTest, RecomputeRunsActiveLayersForwardAgain) {
  CostModel model = ThreeLayers();
  model.boundary = 1;
  model.recompute = v1alpha1::Recompute::Always;
  EXPECT_EQ(StageSeconds(model, 0, 3), 1 + (22 + 2) + (44 + 4));
  model.recompute = v1alpha1::Recompute::ExceptLast;
  EXPECT_EQ(StageSeconds(model, 0, 3), 1 + (22 + 0.75 * 2) + (44 + 0.75 * 4));
  model.micro_batches = 1;
  EXPECT_EQ(StageSeconds(model, 0, 3), 1 + 22 + 44);
}

TEST(CostModelTest, StepFillsDrainsAndRepeatsTheLongestStage) {
  // Stages of 11, 1 + 22 and 2 + 44 seconds.
  EXPECT_EQ(StepSeconds(ThreeLayers(), {1, 2, 3}), (11 + 23 + 46) + 3 * 46);
  EXPECT_EQ(StepSeconds(ThreeLayers(), {3}), 4 * 77);
}

TEST(CostModelTest, ActiveLayersNeedWeightsGradientsSlotsAndActivations) {
  EXPECT_EQ(StageBytes(ThreeLayers(), 0, 2, 0, 2), 2 * 3000 + 30000 + 4 * (3 + 5));
}

TEST(CostModelTest, FrozenLayersNeedWeightsAlone) {
  CostModel model = ThreeLayers();
  model.boundary = 1;
  EXPECT_EQ(StageBytes(model, 0, 1, 0, 2), 1000);
  EXPECT_EQ(StageBytes(model, 0, 2, 0, 2), 1000 + 2 * 2000 + 20000 + 4 * 5);
}

TEST(CostModelTest, OneForwardOneBackwardHoldsFewerMicroBatchesInLaterStages) {
  CostModel model = ThreeLayers();
  model.schedule = v1alpha1::PipelineSchedule::OneForwardOneBackward;
  EXPECT_EQ(StageBytes(model, 2, 3, 2, 3), 2 * 4000 + 40000 + 1 * 7);
  EXPECT_EQ(StageBytes(model, 0, 1, 0, 3), 2 * 1000 + 10000 + 3 * 3);
  // Never more than there are.
  model.micro_batches = 2;
  EXPECT_EQ(StageBytes(model, 0, 1, 0, 3), 2 * 1000 + 10000 + 2 * 3);
}

TEST(CostModelTest, RecomputeHoldsInputsAndOneMicroBatch) {
  CostModel model = ThreeLayers();
  model.recompute = v1alpha1::Recompute::Always;
  const int state = 2 * 6000 + 60000;
  EXPECT_EQ(StageBytes(model, 1, 3, 1, 2), state + 4 * 100 + (5 + 7));
  model.recompute = v1alpha1::Recompute::ExceptLast;
  EXPECT_EQ(StageBytes(model, 1, 3, 1, 2), state + 4 * 100 + 2 * (5 + 7));
  // Recomputation starts at the first active layer.
  model.boundary = 2;
  EXPECT_EQ(StageBytes(model, 1, 3, 1, 2), 2000 + 2 * 4000 + 40000 + 4 * 200 + 2 * 7);
}

TEST(CostModelTest, ReplicasShareTheMicroBatchesAndSumTheirGradients) {
  // Two micro-batches each, and 2 (2 - 1) / 2 x 7000 bytes at 100 a second.
  CostModel model = ThreeLayers();
  model.bytes_per_second = 100;
  const CostModel two = WithReplicas(model, 2);
  EXPECT_EQ(StepSeconds(two, {3}), 2 * 77 + 70);
  // Each of two stages sums half of them, on average; frozen layers have none.
  EXPECT_EQ(StepSeconds(two, {2, 3}), (33 + 46) + 46 + 35);
  model.boundary = 2;
  model.frozen_work = FrozenWork::kCached;
  EXPECT_EQ(StepSeconds(WithReplicas(model, 4), {3}), 44 + 1.5 * 40);
}

}  // namespace
}  // namespace freezepipe::planner
