// Freezing is numerics, repartitioning is placement: weights follow from manifest, seed and freeze
// log alone.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <numeric>

#include "tests/training/job_run.h"
#include "tests/training/plain_loop.h"
#include "worker/checkpoint/layer_state.h"
#include "worker/data/test_files.h"

namespace freezepipe::training {
namespace {

namespace fs = std::filesystem;
using v1alpha1::FreezeLogEntry;
using v1alpha1::FreezePolicy;

FreezeLogEntry Entry(int chosen_at, int frozen_at, int boundary) {
  FreezeLogEntry entry;
  entry.set_chosen_at(chosen_at);
  entry.set_frozen_at(frozen_at);
  entry.set_boundary(boundary);
  return entry;
}

class Freeze : public testing::Test {
 protected:
  // 20 steps an epoch, 240 in all: time enough for repartitions to happen on the way.
  Freeze() : spec_(SmallJob(folder_.path() / "data", 355)) {
    spec_.mutable_training()->set_epochs(12);
    spec_.mutable_model()->mutable_zoo()->set_width_multiplier(0.125);
    spec_.mutable_worker()->set_count(3);
    spec_.mutable_release()->set_time_share(0);  // every device that the old speed doesn't need
  }

  void SetManual(const std::vector<FreezeLogEntry>& log) {
    spec_.mutable_freeze()->set_policy(FreezePolicy::Manual);
    *spec_.mutable_freeze()->mutable_manual() = {log.begin(), log.end()};
  }

  /// Parameters and buffers of a layer in a checkpoint of the run in folder "run".
  Weights Saved(int step, int layer) const {
    char name[64];
    std::snprintf(name, sizeof(name), "step-%08d/layer-%04d.safetensors", step, layer);
    Weights weights;
    for (auto& [tensor_name, tensor] :
         worker::ReadLayerState(folder_.path() / "run" / "output" / "checkpoints" / name).tensors) {
      if (tensor_name.find('/') == std::string::npos) weights[tensor_name] = tensor;
    }
    return weights;
  }

  /// But for the order of sums over replicas, with 64-bit numbers.
  static void ExpectNearWeights(const Weights& actual, const Weights& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (const auto& [name, tensor] : expected) {
      const double difference = (actual.at(name) - tensor).abs().max().item<double>();
      EXPECT_LE(difference, 1e-9 * tensor.abs().max().item<double>()) << name;
    }
  }

  worker::TestFolder folder_;
  v1alpha1::FreezePipeJobSpec spec_;
};

TEST_F(Freeze, ARunThatFreezesRepartitionsAndReleasesEqualsThePlainLoop) {
  const std::vector<FreezeLogEntry> log = {Entry(4, 10, 3), Entry(60, 75, 6)};
  SetManual(log);
  for (const auto optimizer : {v1alpha1::Optimizer::SGD, v1alpha1::Optimizer::AdamW}) {
    SCOPED_TRACE(v1alpha1::Optimizer::Type_Name(optimizer));
    auto& settings = *spec_.mutable_training()->mutable_optimizer();
    settings.set_type(optimizer);
    settings.set_learning_rate(optimizer == v1alpha1::Optimizer::SGD ? 0.02 : 0.002);
    const auto run = RunJob(folder_.path() / v1alpha1::Optimizer::Type_Name(optimizer), spec_);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    EXPECT_GE(run.summary.repartitions_size(), 1) << run.output;
    EXPECT_GE(run.summary.releases_size(), 1) << run.output;
    EXPECT_EQ(run.summary.restarts(), 0);
    ASSERT_EQ(run.summary.freeze_log_size(), 2);
    EXPECT_LT(run.summary.device_seconds(), run.summary.device_seconds_without_release());
    const auto plain = TrainPlainly(spec_, log);
    ExpectSameLosses(run.losses, plain.losses);
    ExpectEpochLosses(run.summary, plain.losses);
    ExpectSameWeights(run.weights, plain.weights);
  }
}

TEST_F(Freeze, AFrozenLayerStaysBitIdenticalAndTheFirstActiveOneLearnsOn) {
  constexpr int kFrozenAt = 40, kBoundary = 4;
  SetManual({Entry(20, kFrozenAt, kBoundary)});
  spec_.mutable_checkpoint()->set_interval_steps(kFrozenAt);
  spec_.mutable_checkpoint()->set_keep(100);
  const auto run = RunJob(folder_.path() / "run", spec_);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  for (int step = 2 * kFrozenAt; step <= 240; step += kFrozenAt) {
    SCOPED_TRACE("step " + std::to_string(step));
    for (int layer = 0; layer < kBoundary; ++layer) {
      ExpectSameWeights(Saved(step, layer), Saved(kFrozenAt, layer));
    }
    const auto before = Saved(step - kFrozenAt, kBoundary), after = Saved(step, kBoundary);
    for (const auto& [name, tensor] : after) {
      EXPECT_FALSE(at::equal(tensor, before.at(name))) << name << " of the first active layer";
    }
  }
}

/// Of what went through frozen layers in a step of the last epoch, the largest part that was read
/// from the cache.
double CachedShareAtTheEnd(const RunResult& run) {
  double share = 0;
  for (const auto& event : run.events) {
    if (event.step() > 220) share = std::max(share, event.stage_times().cached_share());
  }
  return share;
}

/// Losses of training and evaluation, and the weights.
void ExpectSameRun(const RunResult& actual, const RunResult& expected) {
  ExpectSameLosses(actual.losses, expected.losses);
  ExpectSameWeights(actual.weights, expected.weights);
  ASSERT_EQ(actual.summary.epochs_size(), expected.summary.epochs_size());
  for (int i = 0; i < actual.summary.epochs_size(); ++i) {
    EXPECT_EQ(actual.summary.epochs(i).loss(), expected.summary.epochs(i).loss());
  }
}

TEST_F(Freeze, OutputsOfFrozenLayersAreKeptAndChangeNothing) {
  SetManual({Entry(4, 10, 3), Entry(60, 75, 4), Entry(90, 100, 6)});
  auto& cache = *spec_.mutable_freeze()->mutable_cache();
  const auto kept = RunJob(folder_.path() / "kept", spec_);
  ASSERT_EQ(kept.exit_code, 0) << kept.output;
  EXPECT_EQ(CachedShareAtTheEnd(kept), 1);
  cache.set_memory_limit("0");
  const auto computed = RunJob(folder_.path() / "computed", spec_);
  ASSERT_EQ(computed.exit_code, 0) << computed.output;
  EXPECT_EQ(CachedShareAtTheEnd(computed), 0);
  ExpectSameRun(kept, computed);
  cache.set_disk_limit("1Gi");
  const auto on_disk = RunJob(folder_.path() / "disk", spec_);
  ASSERT_EQ(on_disk.exit_code, 0) << on_disk.output;
  EXPECT_EQ(CachedShareAtTheEnd(on_disk), 1);
  ExpectSameRun(on_disk, computed);
}

/// The folder that worker 0 was told to share.
fs::path CacheFolder(const fs::path& run, const std::string& option) {
  std::ifstream log(run / "output" / "logs" / "worker-0.log");
  for (std::string word; log >> word;) {
    if (word == option && log >> word) return word;
  }
  return {};
}

TEST_F(Freeze, NothingIsLeftOfTheCacheAfterTheRun) {
  SetManual({Entry(4, 10, 3)});
  spec_.mutable_training()->set_epochs(2);
  spec_.mutable_freeze()->mutable_cache()->set_disk_limit("1Gi");
  const auto run = RunJob(folder_.path() / "run", spec_);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const auto memory = CacheFolder(folder_.path() / "run", "--cache-memory");
  const auto disk = CacheFolder(folder_.path() / "run", "--cache-disk");
  EXPECT_EQ(memory.parent_path(), "/dev/shm");
  EXPECT_EQ(disk.parent_path(), folder_.path() / "run" / "output");
  EXPECT_FALSE(fs::exists(memory));
  EXPECT_FALSE(fs::exists(disk));
}

TEST_F(Freeze, OutputsThatAreRoundedAreSoWhetherTheyAreKeptOrNot) {
  SetManual({Entry(4, 10, 3), Entry(60, 75, 4), Entry(90, 100, 6)});
  auto& cache = *spec_.mutable_freeze()->mutable_cache();
  cache.set_dtype(v1alpha1::CacheType::BFloat16);
  const auto kept = RunJob(folder_.path() / "kept", spec_);
  ASSERT_EQ(kept.exit_code, 0) << kept.output;
  EXPECT_EQ(CachedShareAtTheEnd(kept), 1);
  cache.set_memory_limit("0");
  spec_.mutable_worker()->set_count(2);  // other stages
  const auto computed = RunJob(folder_.path() / "computed", spec_);
  ASSERT_EQ(computed.exit_code, 0) << computed.output;
  ExpectSameRun(kept, computed);
}

TEST_F(Freeze, ReplicasReadWhatTheOthersKept) {
  SetManual({Entry(4, 10, 3)});
  spec_.mutable_training()->set_epochs(4);
  spec_.mutable_worker()->set_count(2);
  spec_.mutable_pipeline()->set_replicas(2);
  const auto kept = RunJob(folder_.path() / "kept", spec_);
  ASSERT_EQ(kept.exit_code, 0) << kept.output;
  // All samples but a few of short micro-batches were kept in the two epochs before. Of its own
  // alone a replica would find few micro-batches whole.
  std::vector<double> shares;
  for (const auto& event : kept.events) {
    if (event.has_stage_times() && event.step() > 40) {
      shares.push_back(event.stage_times().cached_share());
    }
  }
  ASSERT_GE(shares.size(), 30u);
  EXPECT_GT(std::accumulate(shares.begin(), shares.end(), 0.0) / shares.size(), 0.8);
  spec_.mutable_freeze()->mutable_cache()->set_memory_limit("0");
  const auto computed = RunJob(folder_.path() / "computed", spec_);
  ASSERT_EQ(computed.exit_code, 0) << computed.output;
  ExpectSameRun(kept, computed);
}

TEST_F(Freeze, AWorkerThatIsReplacedReadsWhatTheOneBeforeKept) {
  SetManual({Entry(4, 10, 3)});
  spec_.mutable_worker()->set_count(1);
  spec_.mutable_checkpoint()->set_interval_steps(20);
  JobRun run(folder_.path() / "run", spec_);
  run.Await([](const auto& event) { return event.checkpoint_done().step() >= 60; });
  kill(run.WorkerPid(0), SIGKILL);
  const auto result = run.Finish();
  ASSERT_EQ(result.exit_code, 0) << result.output;
  bool restored = false;
  int steps = 0;
  for (const auto& event : result.events) {
    restored = restored || event.has_restored();
    if (!restored || !event.has_stage_times()) continue;
    ++steps;
    // The last batch of an epoch, which is short, isn't kept.
    if (event.step() % 20 != 0) {
      EXPECT_GT(event.stage_times().cached_share(), 0.5) << event.step();
    }
  }
  EXPECT_GE(steps, 20);
}

TEST_F(Freeze, WhatWouldNotFitForAllSamplesIsComputed) {
  SetManual({Entry(4, 10, 3)});
  spec_.mutable_freeze()->mutable_cache()->set_memory_limit("100Ki");
  const auto run = RunJob(folder_.path() / "run", spec_);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(CachedShareAtTheEnd(run), 0);
}

TEST_F(Freeze, WithRandomAugmentationSomeViewsAreKeptOfEachSample) {
  const std::vector<FreezeLogEntry> log = {Entry(4, 10, 3), Entry(60, 75, 6)};
  SetManual(log);
  spec_.mutable_dataset()->mutable_augmentation()->set_random_crop_padding(2);
  const auto fresh = RunJob(folder_.path() / "fresh", spec_);
  ASSERT_EQ(fresh.exit_code, 0) << fresh.output;
  EXPECT_EQ(CachedShareAtTheEnd(fresh), 0);
  ExpectSameWeights(fresh.weights, TrainPlainly(spec_, log).weights);
  spec_.mutable_freeze()->mutable_cache()->set_views(2);
  const auto kept = RunJob(folder_.path() / "kept", spec_);
  ASSERT_EQ(kept.exit_code, 0) << kept.output;
  EXPECT_EQ(CachedShareAtTheEnd(kept), 1);
  ExpectSameWeights(kept.weights, TrainPlainly(spec_, log).weights);
}

TEST_F(Freeze, ClippingAndBothSchedulesGoOnWithAStageThatHasNothingToTrain) {
  // One worker a layer or nearly: the first stages are frozen whole until the repartition, and join
  // the norm.
  spec_.mutable_worker()->set_count(4);
  spec_.mutable_training()->set_clip_grad_norm(0.5);
  spec_.mutable_release()->set_objective(v1alpha1::ReleaseObjective::Time);
  SetManual({Entry(5, 8, 7)});
  std::map<int, double> losses;
  for (const auto schedule :
       {v1alpha1::PipelineSchedule::GPipe, v1alpha1::PipelineSchedule::OneForwardOneBackward}) {
    spec_.mutable_pipeline()->set_schedule(schedule);
    const auto run =
        RunJob(folder_.path() / v1alpha1::PipelineSchedule::Type_Name(schedule), spec_);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    if (losses.empty()) losses = run.losses;
    ExpectSameLosses(run.losses, losses);
  }
  ASSERT_EQ(losses.size(), 240u);
}

TEST_F(Freeze, RecomputeWithAFrozenPrefixStillTrainsTheFirstActiveLayer) {
  const std::vector<FreezeLogEntry> log = {Entry(4, 10, 3)};
  SetManual(log);
  spec_.mutable_training()->set_epochs(3);
  spec_.mutable_pipeline()->set_recompute(v1alpha1::Recompute::Always);
  const auto run = RunJob(folder_.path() / "run", spec_);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  ExpectSameWeights(run.weights, TrainPlainly(spec_, log).weights);
}

TEST_F(Freeze, ReplicasFreezeTogetherAndReduceWhatIsStillActive) {
  const std::vector<FreezeLogEntry> log = {Entry(4, 10, 3), Entry(20, 25, 6)};
  SetManual(log);
  spec_.mutable_training()->set_epochs(3);
  spec_.mutable_training()->set_precision(v1alpha1::Precision::Float64);
  spec_.mutable_worker()->set_count(4);
  spec_.mutable_pipeline()->set_replicas(2);
  const auto run = RunJob(folder_.path() / "run", spec_);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  ExpectNearWeights(run.weights, TrainPlainly(spec_, log).weights);
}

TEST_F(Freeze, FreedDevicesWidenTheJob) {
  const std::vector<FreezeLogEntry> log = {Entry(4, 10, 3), Entry(60, 75, 6)};
  SetManual(log);
  spec_.mutable_training()->set_precision(v1alpha1::Precision::Float64);
  spec_.mutable_worker()->set_count(2);
  spec_.mutable_pipeline()->set_stages(2);
  spec_.mutable_release()->set_objective(v1alpha1::ReleaseObjective::Time);
  spec_.mutable_release()->set_when_released(v1alpha1::WhenReleased::Replicate);
  const auto run = RunJob(folder_.path() / "run", spec_);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  std::vector<std::pair<int, int>> shapes;  // stages, replicas
  for (const auto& event : run.events) {
    if (!event.has_plan_made()) continue;
    const auto& stages = event.plan_made().stages();
    shapes.emplace_back(stages.size(), stages[0].workers_size());
  }
  EXPECT_EQ(shapes.front(), (std::pair{2, 1})) << run.output;
  EXPECT_EQ(shapes.back(), (std::pair{1, 2})) << run.output;
  EXPECT_EQ(run.summary.releases_size(), 0);
  EXPECT_EQ(run.summary.restarts(), 0);
  ExpectNearWeights(run.weights, TrainPlainly(spec_, log).weights);
}

TEST_F(Freeze, WhatThePolicyFroze_ReplayedAsManual_GivesTheSameWeights) {
  spec_.mutable_freeze()->set_policy(FreezePolicy::GradientChange);
  spec_.mutable_freeze()->set_preset(v1alpha1::FreezePreset::Eager);
  spec_.mutable_freeze()->mutable_gradient_change()->set_threshold(0.9);
  spec_.mutable_freeze()->set_windows_per_epoch(4);
  const auto run = RunJob(folder_.path() / "policy", spec_);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  ASSERT_GE(run.summary.freeze_log_size(), 2) << run.output;
  for (const auto& entry : run.summary.freeze_log()) {
    EXPECT_FALSE(entry.why().empty());
    EXPECT_EQ(entry.frozen_at() - entry.chosen_at(), 16);  // coolDown 0.0667 of 240 steps
    EXPECT_LE(entry.boundary(), 7);                        // of 9 layers
  }

  SetManual({run.summary.freeze_log().begin(), run.summary.freeze_log().end()});
  spec_.mutable_worker()->set_count(2);
  const auto replay = RunJob(folder_.path() / "replay", spec_);
  ASSERT_EQ(replay.exit_code, 0) << replay.output;
  ExpectSameWeights(replay.weights, run.weights);
}

}  // namespace
}  // namespace freezepipe::training
