#include <gtest/gtest.h>

#include <cmath>

#include "operator/coordinator/checkpoint_ledger.h"
#include "operator/coordinator/restore_point.h"
#include "operator/coordinator/window_collector.h"
#include "proto/defaults.h"

namespace freezepipe::coordinator {
namespace {

TEST(RestorePoint, IsTheGreatestStepThatEveryLayerHasACopyOf) {
  const std::map<int, Holdings> holdings = {{0, {{0, {10, 11}}, {1, {10}}}},
                                            {1, {{1, {9}}, {2, {10, 11}}}}};
  const auto point = ChooseRestorePoint(3, holdings, 5, std::nullopt);
  EXPECT_EQ(point.step, 10);
  EXPECT_EQ(point.origin, "PeerMemory");
  EXPECT_EQ(point.sources[1].worker(), 0);
  EXPECT_EQ(point.sources[2].worker(), 1);
}

TEST(RestorePoint, TakesLayersFromMemoryAndDiskOfOneStep) {
  const auto point = ChooseRestorePoint(2, {{0, {{0, {20, 25}}}}}, 20, std::nullopt);
  EXPECT_EQ(point.step, 20);
  EXPECT_EQ(point.origin, "Checkpoint");
  EXPECT_EQ(point.sources[0].worker(), 0);
  EXPECT_EQ(point.sources[1].checkpoint_step(), 20);
}

TEST(RestorePoint, LeavesOutCopiesBehindTheLimit) {
  const std::map<int, Holdings> holdings = {{0, {{0, {8, 12}}, {1, {8, 12}}}}};
  EXPECT_EQ(ChooseRestorePoint(2, holdings, 5, 11).step, 8);
  EXPECT_EQ(ChooseRestorePoint(2, holdings, 5, 7).step, 5);
}

TEST(RestorePoint, IsTheBeginningWithoutAnything) {
  const auto point = ChooseRestorePoint(2, {}, std::nullopt, std::nullopt);
  EXPECT_EQ(point.step, 0);
  EXPECT_EQ(point.origin, "Initial");
  EXPECT_TRUE(point.sources[1].initial());
}

v1alpha1::CheckpointWritten Written(int step, std::vector<int> layers) {
  v1alpha1::CheckpointWritten written;
  written.set_step(step);
  written.set_bytes(10);
  written.mutable_layers()->Assign(layers.begin(), layers.end());
  return written;
}

TEST(CheckpointLedger, ForgetsUnfinishedStepsThatComeAgain) {
  CheckpointLedger ledger(2, 2);
  EXPECT_FALSE(ledger.Add(Written(20, {0})));
  EXPECT_FALSE(ledger.Add(Written(10, {0})));
  ledger.Rewind(10);
  EXPECT_FALSE(ledger.Add(Written(20, {1})));
  EXPECT_FALSE(ledger.Add(Written(10, {0}))) << "said again";
  const auto done = ledger.Add(Written(10, {1}));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->bytes, 20);
  EXPECT_EQ(ledger.newest(), std::nullopt) << "it is not complete yet";
  ledger.AddComplete(10);
  EXPECT_EQ(ledger.newest(), 10);
  EXPECT_TRUE(ledger.Add(Written(20, {0})));
}

TEST(CheckpointLedger, FallsBackToWhatIsKeptWhenTheNewestIsDropped) {
  CheckpointLedger ledger(1, 2);
  for (const int step : {10, 20, 30}) {
    EXPECT_TRUE(ledger.Add(Written(step, {0})));
    ledger.AddComplete(step);
  }
  ledger.Drop(30);
  EXPECT_EQ(ledger.newest(), 20);
  EXPECT_TRUE(ledger.Add(Written(30, {0}))) << "it is written again";
  ledger.Drop(30);
  ledger.Drop(20);
  EXPECT_EQ(ledger.newest(), std::nullopt) << "the first is no longer on disk";
}

TEST(CheckpointLedger, ACheckpointThatWasGivenUpIsWrittenAgain) {
  CheckpointLedger ledger(1, 2);
  EXPECT_TRUE(ledger.Add(Written(10, {0})));
  EXPECT_FALSE(ledger.Add(Written(10, {0}))) << "said again";
  ledger.GiveUp(10);
  EXPECT_EQ(ledger.newest(), std::nullopt);
  EXPECT_TRUE(ledger.Add(Written(10, {0})));
}

v1alpha1::WindowReport Window(int generation, int stage, int step, int layer, double value) {
  v1alpha1::WindowReport report;
  report.set_generation(generation);
  report.set_stage(stage);
  report.set_step(step);
  auto* statistic = report.add_statistics();
  statistic->set_layer(layer);
  statistic->set_value(value);
  report.set_seconds(4);
  report.set_forward_seconds(1);
  report.set_backward_seconds(2);
  if (stage == 1) report.set_loss(0.5);
  return report;
}

TEST(WindowCollector, JoinsTheStagesOfOneWindowAndGeneration) {
  WindowCollector collector(3);
  EXPECT_FALSE(collector.Add(Window(1, 1, 10, 2, 0.7), 2));
  EXPECT_FALSE(collector.Add(Window(2, 0, 10, 1, 0.1), 2));
  const auto whole = collector.Add(Window(1, 0, 10, 1, 0.3), 2);
  ASSERT_TRUE(whole);
  const auto& window = whole->statistics;
  EXPECT_EQ(window.step, 10);
  EXPECT_EQ(window.loss, 0.5);
  EXPECT_TRUE(std::isnan(window.values[0]));
  EXPECT_EQ(window.values[1], 0.3);
  EXPECT_EQ(window.values[2], 0.7);
  EXPECT_EQ(whole->times.seconds, 4);
  EXPECT_EQ(whole->times.busy_seconds, (std::vector<double>{3, 3}));
}

TEST(WindowCollector, GivesAWindowOnceAndAgainAfterARewind) {
  WindowCollector collector(3);
  EXPECT_TRUE(collector.Add(Window(1, 0, 10, 1, 0.3), 1));
  EXPECT_FALSE(collector.Add(Window(1, 0, 10, 1, 0.3), 1));
  collector.Rewind(9);
  EXPECT_TRUE(collector.Add(Window(2, 0, 10, 1, 0.3), 1));
}

}  // namespace
}  // namespace freezepipe::coordinator
