#include "operator/planner/release_objective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/planner/test_models.h"
#include "proto/defaults.h"

namespace freezepipe::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::SizeIs;

v1alpha1::ReleaseSpec Release(v1alpha1::ReleaseObjective::Type objective) {
  v1alpha1::ReleaseSpec release;
  release.set_objective(objective);
  ApplyDefaults(&release);
  return release;
}

v1alpha1::ReleaseSpec Share(double time_share) {
  auto release = Release(v1alpha1::ReleaseObjective::Share);
  release.set_time_share(time_share);
  return release;
}

v1alpha1::ReleaseSpec Efficiency(double min_efficiency) {
  auto release = Release(v1alpha1::ReleaseObjective::Efficiency);
  release.set_min_efficiency(min_efficiency);
  return release;
}

/// Twelve layers of 3 s and 4 micro-batches: T(1) = 144, T(2) = 36 + 54 = 90, T(3) = 36 + 36 = 72,
/// T(4) = 63.
CostModel TwelveLayers() { return ModelOf(std::vector<double>(12, 3), 4); }

/// The same with a third of its work gone: layers of 2 s.
CostModel TwelveLighterLayers() { return ModelOf(std::vector<double>(12, 2), 4); }

const Partition kFour = {3, 6, 9, 12};

std::optional<Partition> ChoosePartition(const CostModel& model,
                                         const v1alpha1::ReleaseSpec& release,
                                         const Baseline& baseline, int held) {
  const auto shape = ChooseShape(model, release, baseline, held);
  return shape ? std::optional(shape->partition) : std::nullopt;
}

TEST(ReleaseObjectiveTest, BaselineIsOneDevicesWorkAndThePlansStep) {
  const Baseline baseline = MakeBaseline(TwelveLayers(), kFour);
  EXPECT_DOUBLE_EQ(baseline.work_seconds, 144);
  EXPECT_DOUBLE_EQ(baseline.step_seconds, 63);
}

TEST(ReleaseObjectiveTest, ShareKeepsAllBeforeAnythingFroze) {
  const CostModel model = TwelveLayers();
  for (const double s : {0.0, 0.5, 1.0}) {
    EXPECT_THAT(ChoosePartition(model, Share(s), MakeBaseline(model, kFour), 4),
                Optional(ElementsAre(3, 6, 9, 12)))
        << s;
  }
}

TEST(ReleaseObjectiveTest, ShareSplitsTheSavedWork) {
  // Now T(1) = 96, T(2) = 60, T(3) = 48, T(4) = 42, and W / W0 = 2/3.
  const CostModel model = TwelveLighterLayers();
  const Baseline baseline = MakeBaseline(TwelveLayers(), kFour);
  // At most 63: two stages do.
  EXPECT_THAT(ChoosePartition(model, Share(0), baseline, 4), Optional(SizeIs(2)));
  // At most 63 sqrt(2/3) = 51.4: three.
  EXPECT_THAT(ChoosePartition(model, Share(0.5), baseline, 4), Optional(SizeIs(3)));
  // At most 42: four.
  EXPECT_THAT(ChoosePartition(model, Share(1), baseline, 4), Optional(SizeIs(4)));
}

TEST(ReleaseObjectiveTest, ShareTakesTheShortestStepWhenNoneIsShortEnough) {
  // A last layer that can't be cut keeps the step at 4 x 30 however many stages there are: of
  // equals the fewest.
  const CostModel heavy_end = ModelOf({0, 0, 0, 30}, 4);
  const Baseline baseline = {120, 10};
  EXPECT_THAT(ChoosePartition(heavy_end, Share(0.5), baseline, 4), Optional(SizeIs(1)));
  EXPECT_THAT(ChoosePartition(TwelveLayers(), Share(0.5), baseline, 3), Optional(SizeIs(3)));
}

TEST(ReleaseObjectiveTest, EfficiencyKeepsTheMostThatAreWellUsed) {
  // T(1) / (K T(K)) = 1, 0.8, 0.667, 0.571.
  const CostModel model = TwelveLayers();
  const Baseline baseline = MakeBaseline(model, kFour);
  EXPECT_THAT(ChoosePartition(model, Efficiency(0.5), baseline, 4), Optional(SizeIs(4)));
  EXPECT_THAT(ChoosePartition(model, Efficiency(0.66), baseline, 4), Optional(SizeIs(3)));
  EXPECT_THAT(ChoosePartition(model, Efficiency(0.8), baseline, 4), Optional(SizeIs(2)));
  EXPECT_THAT(ChoosePartition(model, Efficiency(0.81), baseline, 4), Optional(SizeIs(1)));
}

TEST(ReleaseObjectiveTest, EfficiencyTakesTheFewestThatFitWhenNoneIsWellUsed) {
  CostModel model = TwelveLayers();
  for (auto& layer : model.layers) layer.set_parameter_bytes(10);
  model.memory_bytes = 100;  // five layers
  EXPECT_THAT(ChoosePartition(model, Efficiency(0.9), {}, 4), Optional(SizeIs(3)));
}

TEST(ReleaseObjectiveTest, TimeGivesBackOnlyWhatDoesNotHelp) {
  const auto time = Release(v1alpha1::ReleaseObjective::Time);
  EXPECT_THAT(ChoosePartition(TwelveLayers(), time, {}, 4), Optional(SizeIs(4)));
  // One layer does all the work.
  EXPECT_THAT(ChoosePartition(ModelOf({0, 0, 30, 0}, 4), time, {}, 4), Optional(SizeIs(1)));
}

TEST(ReleaseObjectiveTest, NeverMoreThanHeldOrLayers) {
  const auto time = Release(v1alpha1::ReleaseObjective::Time);
  EXPECT_THAT(ChoosePartition(TwelveLayers(), time, {}, 2), Optional(SizeIs(2)));
  EXPECT_THAT(ChoosePartition(ModelOf({3, 3}, 4), time, {}, 8), Optional(SizeIs(2)));
  EXPECT_EQ(ChoosePartition(TwelveLayers(), time, {}, 0), std::nullopt);
}

TEST(ReleaseObjectiveTest, NothingFits) {
  CostModel model = TwelveLayers();
  for (auto& layer : model.layers) layer.set_parameter_bytes(10);
  model.memory_bytes = 1;
  EXPECT_EQ(ChoosePartition(model, Share(0.5), {144, 63}, 4), std::nullopt);
}

v1alpha1::ReleaseSpec Replicating(v1alpha1::ReleaseSpec release) {
  release.set_when_released(v1alpha1::WhenReleased::Replicate);
  return release;
}

TEST(ReplicateTest, ReplicasShareOutTheMicroBatchesEvenly) {
  EXPECT_THAT(ReplicaCounts(4, 8), ElementsAre(1, 2, 4));
  EXPECT_THAT(ReplicaCounts(6, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(ReplicaCounts(4, 0), ElementsAre());
}

TEST(ReplicateTest, TimeChoosesStagesAndReplicasTogether) {
  const auto time = Replicating(Release(v1alpha1::ReleaseObjective::Time));
  // Four copies pay no bubble: 4 x 36 / 4. Where summing the gradients of 12 x 100 bytes takes
  // long, it is better to cut: with 2 stages and 2 copies each sums half, with 4 stages none.
  CostModel model = TwelveLayers();
  EXPECT_EQ(*ChooseShape(model, time, {}, 4), (Shape{{12}, 4}));
  for (auto& layer : model.layers) layer.set_parameter_bytes(100);
  model.bytes_per_second = 100;  // 36 + 18 against 27 + 27 + 6 and 63
  EXPECT_EQ(*ChooseShape(model, time, {}, 4), (Shape{{12}, 4}));
  model.bytes_per_second = 50;  // 36 + 36 against 54 + 12 and 63
  EXPECT_EQ(*ChooseShape(model, time, {}, 4), (Shape{{3, 6, 9, 12}, 1}));
}

TEST(ReplicateTest, TheOthersWidenTheStagesThatTheyChoose) {
  const CostModel model = TwelveLighterLayers();
  const Baseline baseline = MakeBaseline(TwelveLayers(), kFour);
  EXPECT_EQ(*ChooseShape(model, Replicating(Share(0)), baseline, 4), (Shape{{6, 12}, 2}));
  // Three stages of four devices: the fourth finds no use.
  EXPECT_EQ(ChooseShape(model, Replicating(Share(0.5)), baseline, 4)->devices(), 3);
  EXPECT_EQ(*ChooseShape(TwelveLayers(), Replicating(Efficiency(0.81)), baseline, 4),
            (Shape{{12}, 4}));
}

TEST(ReplicateTest, ReplicasInForceStayWhereDevicesGoBack) {
  const CostModel model = WithReplicas(TwelveLayers(), 2);
  EXPECT_EQ(ChooseShape(model, Release(v1alpha1::ReleaseObjective::Time), {}, 5)->replicas, 2);
}

TEST(WorthRepartitionTest, ADeviceOrEnoughTime) {
  const CostModel model = TwelveLayers();
  EXPECT_TRUE(WorthRepartition(model, {kFour}, {{6, 12}}, 0.03));
  EXPECT_FALSE(WorthRepartition(model, {kFour}, {kFour}, 0));
  // 36 + 3 x 12 = 72 against 63: 12.5 % less.
  EXPECT_TRUE(WorthRepartition(model, {{3, 6, 10, 12}}, {kFour}, 0.12));
  EXPECT_FALSE(WorthRepartition(model, {{3, 6, 10, 12}}, {kFour}, 0.13));
  EXPECT_TRUE(WorthRepartition(model, {{6, 12}}, {kFour}, 0.3));
  // As long a step is no gain, also where none is asked for.
  EXPECT_FALSE(WorthRepartition(model, {{3, 6, 10, 12}}, {{4, 7, 10, 12}}, 0));
}

}  // namespace
}  // namespace freezepipe::planner
