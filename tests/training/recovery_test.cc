// Killing any process at any moment loses at most the steps since the last copy, and never the job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "tests/training/break_connections.h"
#include "tests/training/job_run.h"
#include "tests/training/plain_loop.h"
#include "worker/data/test_files.h"

namespace freezepipe::training {
namespace {

namespace fs = std::filesystem;
using v1alpha1::FreezeLogEntry;
using v1alpha1::FreezePolicy;
using v1alpha1::JobEvent;
using v1alpha1::JobState;

class Recovery : public testing::Test {
 protected:
  Recovery() : spec_(SmallJob(folder_.path() / "data", 355)) {
    spec_.mutable_training()->set_epochs(12);  // 240 steps
    spec_.mutable_model()->mutable_zoo()->set_width_multiplier(0.125);
    spec_.mutable_worker()->set_count(3);
    spec_.mutable_checkpoint()->set_interval_steps(10);
    spec_.mutable_release()->set_time_share(0);
    FreezeLogEntry entry;
    entry.set_chosen_at(50);
    entry.set_frozen_at(60);
    entry.set_boundary(4);
    log_ = {entry};
    spec_.mutable_freeze()->set_policy(FreezePolicy::Manual);
    *spec_.mutable_freeze()->add_manual() = entry;
  }

  void ExpectLikeUndisturbed(const RunResult& run) {
    ASSERT_EQ(run.exit_code, 0) << run.output;
    const auto plain = TrainPlainly(spec_, log_);
    ExpectSameLosses(run.losses, plain.losses);
    ExpectEpochLosses(run.summary, plain.losses);
    ExpectSameWeights(run.weights, plain.weights);
  }

  void KillWorkerOnce(const std::function<bool(const JobEvent&)>& when, int worker) {
    JobRun job(folder_.path() / "run", spec_);
    job.Await(when);
    const pid_t pid = job.WorkerPid(worker);
    ASSERT_GT(pid, 0);
    kill(pid, SIGKILL);
    const auto run = job.Finish();
    ExpectLikeUndisturbed(run);
    EXPECT_GE(run.summary.restarts(), 1) << run.output;
  }

  struct Terminated : RunResult {
    /// Where the layers came from when the worker's successor was there.
    std::string restored_from;
  };

  /// Sends it SIGTERM in mid-run: no step is lost.
  Terminated TerminateWorker(int worker) {
    JobRun job(folder_.path() / "run", spec_);
    job.Await([](const JobEvent& event) { return event.has_window_done(); });
    kill(job.WorkerPid(worker), SIGTERM);
    const auto restored = job.Await([](const JobEvent& event) { return event.has_restored(); });
    EXPECT_EQ(restored.restored().steps_lost(), 0);
    const auto run = job.Finish();
    ExpectLikeUndisturbed(run);
    return {run, restored.restored().source()};
  }

  /// Folders of the run's checkpoints by step, also those under way.
  std::map<int, fs::path> Checkpoints() const {
    std::map<int, fs::path> folders;
    for (const auto& entry :
         fs::directory_iterator(folder_.path() / "run" / "output" / "checkpoints")) {
      int step = 0;
      if (std::sscanf(entry.path().filename().c_str(), "step-%d", &step) == 1) {
        folders[step] = entry.path();
      }
    }
    return folders;
  }

  worker::TestFolder folder_;
  v1alpha1::FreezePipeJobSpec spec_;
  std::vector<FreezeLogEntry> log_;
};

TEST_F(Recovery, AWorkerKilledWhileTrainingIsReplacedAndTrainingGoesOnFromTheCheckpoint) {
  KillWorkerOnce(
      [](const JobEvent& event) {
        return event.has_checkpoint_done() && event.checkpoint_done().step() >= 20;
      },
      1);
}

TEST_F(Recovery, AWorkerKilledBeforeTheFirstCheckpoint) {
  spec_.mutable_checkpoint()->set_interval_steps(0);
  KillWorkerOnce([](const JobEvent& event) { return event.has_window_done(); }, 0);
}

TEST_F(Recovery, AWorkerKilledInARepartition) {
  KillWorkerOnce(
      [](const JobEvent& event) {
        return event.has_state_changed() &&
               event.state_changed().state() == JobState::Repartitioning;
      },
      2);
}

TEST_F(Recovery, AReplicaLostIsRestoredFromItsPeersMemory) {
  spec_.mutable_checkpoint()->set_interval_steps(0);
  spec_.mutable_freeze()->set_policy(FreezePolicy::None);
  spec_.mutable_freeze()->clear_manual();
  spec_.mutable_worker()->set_count(2);
  spec_.mutable_pipeline()->set_replicas(2);
  const auto undisturbed = RunJob(folder_.path() / "undisturbed", spec_);
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.output;

  JobRun job(folder_.path() / "run", spec_);
  job.Await([](const JobEvent& event) { return event.has_window_done() && event.step() >= 10; });
  const pid_t pid = job.WorkerPid(0);
  ASSERT_GT(pid, 0);
  kill(pid, SIGKILL);
  const auto run = job.Finish();
  ASSERT_EQ(run.exit_code, 0) << run.output;
  ExpectSameWeights(run.weights, undisturbed.weights);
  bool from_peer = false;
  for (const auto& event : run.events) {
    if (!event.has_restored()) continue;
    from_peer = event.restored().source() == "PeerMemory";
    EXPECT_LE(event.restored().steps_lost(), 1);
  }
  EXPECT_TRUE(from_peer) << run.output;
}

// With its layers alive a step isn't lost, and the evaluation that follows isn't either.
TEST_F(Recovery, AnEpochIsEvaluatedAlsoWhenAWorkerIsLostMeanwhile) {
  spec_ = SmallJob(folder_.path() / "long-evaluation", 20'000);
  spec_.mutable_dataset()->mutable_limit()->set_train(90);
  spec_.mutable_worker()->set_count(2);
  spec_.mutable_pipeline()->set_replicas(2);
  JobRun job(folder_.path() / "run", spec_);
  job.Await([](const JobEvent& event) {
    return event.has_window_done() && event.window_done().step() == 10;  // the last
  });
  kill(job.WorkerPid(1), SIGKILL);
  const auto run = job.Finish();
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.summary.restarts(), 1);
  ASSERT_EQ(run.summary.epochs_size(), 2) << run.output;
  EXPECT_EQ(run.summary.epochs(1).step(), 10);
  EXPECT_GT(run.summary.epochs(1).training_loss(), 0);
  for (const auto& event : run.events) {
    if (event.has_restored()) EXPECT_EQ(event.restored().steps_lost(), 0);
  }
}

// No process is lost: the workers say themselves that a step failed, also in a generation that they
// switched to.
TEST_F(Recovery, ConnectionsThatBreakAfterARepartitionAreMadeAnew) {
  // With frozen layers that cost nothing one worker would do.
  spec_.mutable_freeze()->mutable_cache()->set_memory_limit("0");
  JobRun job(folder_.path() / "run", spec_);
  const auto done = job.Await([](const JobEvent& event) { return event.has_repartition_done(); });
  job.Await([&](const JobEvent& event) {
    return event.has_window_done() && event.step() >= done.repartition_done().step() + 5;
  });
  ASSERT_GT(BreakConnections(job.WorkerPid(2)), 0);
  const auto restored = job.Await([](const JobEvent& event) { return event.has_restored(); });
  // A step that failed on some workers and was finished by others leaves no common one in memory.
  EXPECT_THAT(restored.restored().source(), testing::AnyOf("PeerMemory", "Checkpoint"));
  EXPECT_LE(restored.restored().steps_lost(), 10);
  const auto run = job.Finish();
  ExpectLikeUndisturbed(run);
  EXPECT_EQ(run.summary.restarts(), 0) << "nobody was lost";
}

TEST_F(Recovery, AWorkerToldToEndHandsItsLayersOnAndItsSuccessorGetsSomeBack) {
  spec_.mutable_checkpoint()->set_interval_steps(0);
  const auto run = TerminateWorker(1);
  std::vector<std::vector<int>> stages;
  for (const auto& event : run.events) {
    if (!event.has_repartition_done()) continue;
    const auto& to = event.repartition_done().to();
    stages.push_back({to.begin(), to.end()});
    if (stages.size() == 1) {
      EXPECT_EQ(event.repartition_done().why(), "worker 1 leaves");
    }
  }
  ASSERT_FALSE(stages.empty()) << run.output;
  EXPECT_EQ(stages[0].size(), 2u) << "training goes on with those that stay";
  EXPECT_EQ(run.restored_from, "PeerMemory");
}

TEST_F(Recovery, TheLeadToldToEndHandsItsLayersOnToo) {
  spec_.mutable_checkpoint()->set_interval_steps(0);
  EXPECT_EQ(TerminateWorker(2).restored_from, "PeerMemory");
}

TEST_F(Recovery, ALoneWorkerToldToEndLeavesACheckpoint) {
  spec_.mutable_checkpoint()->set_interval_steps(0);
  spec_.mutable_worker()->set_count(1);
  EXPECT_EQ(TerminateWorker(0).restored_from, "Checkpoint");
}

TEST_F(Recovery, StoppedByCtrlCAndResumedWithAnotherNumberOfStages) {
  {
    JobRun job(folder_.path() / "run", spec_);
    job.Await([](const JobEvent& event) { return event.has_window_done() && event.step() >= 15; });
    job.Signal(SIGINT);
    const auto stopped = job.Finish();
    EXPECT_EQ(stopped.exit_code, 130) << stopped.output;
    EXPECT_EQ(stopped.summary.state(), JobState::Stopped);
    EXPECT_LT(stopped.summary.steps(), 240);
  }
  const auto run = RunJob(folder_.path() / "run", spec_, {"--resume", "--workers", "2"});
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const auto plain = TrainPlainly(spec_, log_);
  ExpectSameWeights(run.weights, plain.weights);
  ExpectEpochLosses(run.summary, plain.losses);
}

TEST_F(Recovery, ResumeLeavesADamagedCheckpointOut) {
  {
    JobRun job(folder_.path() / "run", spec_);
    job.Await([](const JobEvent& event) {
      return event.has_checkpoint_done() && event.checkpoint_done().step() >= 20;
    });
    job.Signal(SIGINT);
    EXPECT_EQ(job.Finish().exit_code, 130);
  }
  const auto damaged = Checkpoints().rbegin()->second / "layer-0002.safetensors";
  fs::resize_file(damaged, fs::file_size(damaged) / 2);
  const auto run = RunJob(folder_.path() / "run", spec_, {"--resume"});
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.summary.restarts(), 0);
  EXPECT_THAT(run.output, testing::HasSubstr("damaged checkpoint left out: " + damaged.string()));
  ExpectSameWeights(run.weights, TrainPlainly(spec_, log_).weights);
}

TEST_F(Recovery, AWorkerThatFindsTheCheckpointDamagedFallsBackToTheOneBefore) {
  spec_.mutable_checkpoint()->set_interval_steps(40);
  spec_.mutable_checkpoint()->set_keep(100);
  spec_.mutable_freeze()->set_policy(FreezePolicy::None);
  spec_.mutable_freeze()->clear_manual();
  log_.clear();
  JobRun job(folder_.path() / "run", spec_);
  const auto plan = job.Await([](const JobEvent& event) { return event.has_plan_made(); });
  job.Await([](const JobEvent& event) {
    return event.has_checkpoint_done() && event.checkpoint_done().step() >= 80;
  });
  // With both stopped no checkpoint is written or completed behind this test's back.
  const auto& stage = plan.plan_made().stages(1);
  const pid_t pid = job.WorkerPid(stage.workers(0));
  ASSERT_GT(pid, 0);
  kill(pid, SIGSTOP);
  job.Signal(SIGSTOP);
  char file[32];
  std::snprintf(file, sizeof(file), "layer-%04d.safetensors", stage.first_layer());
  for (const auto& [step, folder] : Checkpoints()) {
    if (step > 40 && fs::exists(folder / file)) fs::resize_file(folder / file, 100);
  }
  kill(pid, SIGKILL);
  job.Signal(SIGCONT);
  const auto run = job.Finish();
  ExpectLikeUndisturbed(run);
  EXPECT_THAT(run.output, testing::HasSubstr(file));
  EXPECT_THAT(run.output, testing::HasSubstr("going on from step 40 "));
}

TEST_F(Recovery, StoppedBeforeTheFirstCheckpointItStartsOver) {
  {
    JobRun job(folder_.path() / "run", spec_);
    job.Await([](const JobEvent& event) { return event.has_worker_started(); });
    job.Signal(SIGKILL);
    job.Finish();
  }
  ExpectLikeUndisturbed(RunJob(folder_.path() / "run", spec_, {"--resume"}));
}

TEST_F(Recovery, NoWorkerOutlivesItsCoordinator) {
  JobRun job(folder_.path() / "run", spec_);
  job.Await([](const JobEvent& event) { return event.has_window_done(); });
  std::vector<pid_t> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(job.WorkerPid(i));
  job.Signal(SIGKILL);
  job.Finish();
  for (const pid_t pid : workers) {
    ASSERT_GT(pid, 0);
    // Reparented: gone once init has reaped it, dead as soon as its executable link is.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::filesystem::exists("/proc/" + std::to_string(pid) + "/exe") &&
           std::chrono::steady_clock::now() < limit) {
    }
    std::error_code error;
    EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(pid) + "/exe", error));
  }
}

TEST_F(Recovery, ALossThatIsNotFiniteStopsTheJobAndNamesStepAndLayer) {
  spec_.mutable_training()->mutable_optimizer()->set_learning_rate(1e30);
  const auto run = RunJob(folder_.path() / "run", spec_);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.summary.state(), JobState::Failed);
  EXPECT_THAT(run.summary.message(), testing::HasSubstr("NotFinite"));
  EXPECT_THAT(run.summary.message(),
              testing::ContainsRegex("layer .* is not finite at step [0-9]+"));
}

}  // namespace
}  // namespace freezepipe::training
