#include "operator/report/summary_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freezepipe::report {
namespace {

using testing::DoubleEq;
using v1alpha1::FreezePipeJobStatus;
using v1alpha1::JobEvent;
using v1alpha1::JobState;
using v1alpha1::Summary;

JobEvent At(double time, int step = 0) {
  JobEvent event;
  event.set_time(time);
  event.set_step(step);
  return event;
}

JobEvent Started(double time, int worker) {
  JobEvent event = At(time);
  event.mutable_worker_started()->set_worker(worker);
  return event;
}

JobEvent Released(double time, int step, int worker) {
  JobEvent event = At(time, step);
  event.mutable_worker_released()->set_worker(worker);
  return event;
}

JobEvent Lost(double time, int worker) {
  JobEvent event = At(time);
  event.mutable_worker_lost()->set_worker(worker);
  return event;
}

JobEvent EpochDone(double time, int epoch, int step, double accuracy) {
  JobEvent event = At(time, step);
  event.mutable_epoch_done()->set_epoch(epoch);
  event.mutable_epoch_done()->set_step(step);
  event.mutable_epoch_done()->set_accuracy(accuracy);
  event.mutable_epoch_done()->set_loss(1 - accuracy);
  return event;
}

JobEvent RestoredTo(double time, int step) {
  JobEvent event = At(time, step);
  event.mutable_restored()->set_step(step);
  return event;
}

FreezePipeJobStatus StatusAt(int step, JobState::Type state = JobState::Succeeded) {
  FreezePipeJobStatus status;
  status.set_state(state);
  status.set_step(step);
  return status;
}

SummaryBuilder ThreeWorkers() {
  RunFacts facts;
  facts.job = "small";
  facts.workers = 3;
  facts.total_steps = 20;
  facts.steps_per_epoch = 10;
  facts.batch_size = 128;
  facts.train_samples = 1200;
  SummaryBuilder builder(facts);
  for (int worker = 0; worker < 3; ++worker) builder.Add(Started(1, worker));
  return builder;
}

TEST(SummaryBuilderTest, CountsDevicesUntilTheyAreReleased) {
  SummaryBuilder builder = ThreeWorkers();
  builder.Add(Released(11, 8, 0));
  builder.Add(Released(41, 15, 1));
  const Summary summary = builder.Build(StatusAt(20), 61);
  // 10 + 40 + 60 seconds held; 3 x 60 had all been kept.
  EXPECT_THAT(summary.device_seconds(), DoubleEq(110));
  EXPECT_THAT(summary.device_seconds_without_release(), DoubleEq(180));
  ASSERT_EQ(summary.releases_size(), 2);
  EXPECT_EQ(summary.releases(0).worker(), 0);
  EXPECT_EQ(summary.releases(1).step(), 15);
  EXPECT_EQ(summary.releases(1).time(), 41);
}

TEST(SummaryBuilderTest, HeldAndKeptAreEqualWithoutARelease) {
  const Summary summary = ThreeWorkers().Build(StatusAt(20), 11);
  EXPECT_THAT(summary.device_seconds(), DoubleEq(30));
  EXPECT_THAT(summary.device_seconds_without_release(), DoubleEq(30));
}

TEST(SummaryBuilderTest, ALostWorkerHoldsNothingUntilItIsStartedAgain) {
  SummaryBuilder builder = ThreeWorkers();
  builder.Add(Lost(11, 2));
  builder.Add(Started(16, 2));
  const Summary summary = builder.Build(StatusAt(20), 21);
  // 20 + 20 + 10 + 5.
  EXPECT_THAT(summary.device_seconds(), DoubleEq(55));
  EXPECT_THAT(summary.device_seconds_without_release(), DoubleEq(55));
  EXPECT_EQ(summary.restarts(), 1);
}

TEST(SummaryBuilderTest, AWorkerThatIsLostAndNotReplacedIsNoRestart) {
  SummaryBuilder builder = ThreeWorkers();
  builder.Add(Lost(11, 2));
  EXPECT_EQ(builder.Build(StatusAt(5, JobState::Failed), 12).restarts(), 0);
}

TEST(SummaryBuilderTest, TheEndOfAReleasedWorkerIsNoLoss) {
  SummaryBuilder builder = ThreeWorkers();
  builder.Add(Released(11, 8, 0));
  builder.Add(Lost(12, 0));
  const Summary summary = builder.Build(StatusAt(20), 21);
  EXPECT_THAT(summary.device_seconds(), DoubleEq(50));
  EXPECT_THAT(summary.device_seconds_without_release(), DoubleEq(60));
  EXPECT_EQ(summary.restarts(), 0);
}

TEST(SummaryBuilderTest, AReattachedWorkerIsCountedOnce) {
  SummaryBuilder builder = ThreeWorkers();
  builder.Add(Started(6, 0));
  EXPECT_THAT(builder.Build(StatusAt(20), 11).device_seconds(), DoubleEq(30));
}

TEST(SummaryBuilderTest, AReleasedWorkerThatComesBackIsKeptOnlyOnce) {
  SummaryBuilder builder = ThreeWorkers();
  builder.Add(Released(6, 8, 0));
  builder.Add(Started(9, 0));
  const Summary summary = builder.Build(StatusAt(20), 11);
  EXPECT_THAT(summary.device_seconds(), DoubleEq(5 + 2 + 10 + 10));
  EXPECT_THAT(summary.device_seconds_without_release(), DoubleEq(30));
}

TEST(SummaryBuilderTest, TakesAccuracyFromTheLastEpochAndForgetsReplayedOnes) {
  SummaryBuilder builder = ThreeWorkers();
  builder.Add(EpochDone(5, 1, 10, 0.5));
  builder.Add(EpochDone(9, 2, 20, 0.75));
  builder.Add(RestoredTo(10, 15));
  EXPECT_EQ(builder.Build(StatusAt(15, JobState::Stopped), 11).epochs_size(), 1);
  builder.Add(EpochDone(14, 2, 20, 0.875));
  const Summary summary = builder.Build(StatusAt(20), 15);
  ASSERT_EQ(summary.epochs_size(), 2);
  EXPECT_EQ(summary.accuracy(), 0.875);
  EXPECT_EQ(summary.loss(), 0.125);
  EXPECT_EQ(summary.epochs(1).step(), 20);
}

TEST(SummaryBuilderTest, AnEpochEvaluatedAgainCountsOnce) {
  SummaryBuilder builder = ThreeWorkers();
  builder.Add(EpochDone(5, 1, 10, 0.5));
  builder.Add(EpochDone(9, 2, 20, 0.75));
  builder.Add(RestoredTo(10, 20));
  builder.Add(EpochDone(12, 2, 20, 0.875));
  const Summary summary = builder.Build(StatusAt(20), 15);
  ASSERT_EQ(summary.epochs_size(), 2);
  EXPECT_EQ(summary.epochs(1).accuracy(), 0.875);
}

TEST(SummaryBuilderTest, CountsSamplesOfFullEpochsAndOfTheStepsAfterThem) {
  // 1200 samples in the first epoch, 5 steps of 128 in the second.
  const Summary summary = ThreeWorkers().Build(StatusAt(15, JobState::Stopped), 20);
  EXPECT_THAT(summary.samples_per_second(), DoubleEq((1200 + 640) / 20.0));
}

TEST(SummaryBuilderTest, TakesStateAndFreezeLogFromTheStatus) {
  FreezePipeJobStatus status = StatusAt(12, JobState::Failed);
  status.set_message("loss is NaN");
  v1alpha1::FreezeLogEntry* entry = status.add_freeze_log();
  entry->set_chosen_at(3);
  entry->set_frozen_at(7);
  entry->set_boundary(2);
  const Summary summary = ThreeWorkers().Build(status, 2);
  EXPECT_EQ(summary.job(), "small");
  EXPECT_EQ(summary.state(), JobState::Failed);
  EXPECT_EQ(summary.message(), "loss is NaN");
  EXPECT_EQ(summary.steps(), 12);
  EXPECT_EQ(summary.total_steps(), 20);
  ASSERT_EQ(summary.freeze_log_size(), 1);
  EXPECT_EQ(summary.freeze_log(0).frozen_at(), 7);
}

TEST(SummaryBuilderTest, GoesOnFromAnEarlierProcess) {
  SummaryBuilder builder = ThreeWorkers();
  builder.Add(EpochDone(8, 1, 10, 0.5));
  builder.Add(Released(11, 12, 0));
  builder.Add(EpochDone(20, 2, 20, 0.6));
  builder.Add(At(21, 20));
  EXPECT_EQ(builder.last_time(), 21);
  builder.ResumeFrom(10);
  builder.Add(Started(21, 0));
  builder.Add(Started(21, 1));
  const Summary summary = builder.Build(StatusAt(12, JobState::Stopped), 31);
  // First process: 10 + 20 + 20 held of 3 x 20; second: 2 x 10.
  EXPECT_THAT(summary.device_seconds(), DoubleEq(50 + 20));
  EXPECT_THAT(summary.device_seconds_without_release(), DoubleEq(60 + 20));
  EXPECT_EQ(summary.epochs_size(), 1);
  EXPECT_EQ(summary.releases_size(), 1);
  EXPECT_EQ(summary.restarts(), 0);
}

}  // namespace
}  // namespace freezepipe::report
