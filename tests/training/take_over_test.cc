// Another coordinator takes over while real workers train: they don't notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "operator/cluster/local/local_cluster.h"
#include "operator/coordinator/session_runner.h"
#include "proto/defaults.h"
#include "tests/training/job_run.h"
#include "tests/training/plain_loop.h"
#include "worker/checkpoint/layer_state.h"
#include "worker/data/test_files.h"

namespace freezepipe::training {
namespace {

namespace fs = std::filesystem;
using v1alpha1::FreezePipeJobStatus;
using v1alpha1::JobEvent;
using v1alpha1::JobState;

constexpr char kJob[] = "job";

/// A job whose coordinators come and go; the durable record outlives them, in memory.
class TakenOverJob : private coordinator::RecordStore, private coordinator::Listener {
 public:
  TakenOverJob(const fs::path& folder, v1alpha1::FreezePipeJobSpec spec)
      : folder_(folder),
        spec_(std::move(spec)),
        cluster_({.command = [this](int worker) { return Command(worker); },
                  .log_directory = folder_,
                  .threads = 1},
                 [this](int worker, cluster::WorkerEnd end) { OnExit(worker, std::move(end)); }) {
    ApplyDefaults(&spec_);
  }
  ~TakenOverJob() override {
    EndCoordinator();
    cluster_.Stop();
  }

  /// Each of the next term, with the last durable record, at the same address.
  void StartCoordinator() {
    server_ = Listen();
    port_ = server_->port();
    coordinator::JobSetup setup;
    setup.spec = spec_;
    setup.term = ++term_;
    setup.checkpoint_directory = folder_ / "checkpoints";
    setup.export_weights = true;
    {
      const std::lock_guard lock(mutex_);
      setup.record = record_;
    }
    auto session = server_->AddJob(kJob, std::move(setup),
                                   {.cluster = &cluster_, .records = this, .listener = this});
    session->Start();
    const std::lock_guard lock(mutex_);
    session_ = std::move(session);
  }

  /// As if its process were killed.
  void EndCoordinator() {
    std::unique_ptr<coordinator::SessionRunner> session;
    {
      const std::lock_guard lock(mutex_);
      session = std::move(session_);
    }
    session.reset();
    server_.reset();
  }

  void Await(const std::function<bool(const JobEvent&)>& fits) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, std::chrono::minutes(2), [&] {
      return std::any_of(events_.begin(), events_.end(), fits);
    });
    if (!came) throw std::runtime_error("waited in vain");
  }

  FreezePipeJobStatus AwaitEnd() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(3), [&] { return end_.has_value(); })) {
      throw std::runtime_error("the job doesn't end");
    }
    return *end_;
  }

  std::vector<JobEvent> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::vector<cluster::WorkerEnd> exits() {
    const std::lock_guard lock(mutex_);
    return exits_;
  }
  fs::path weights() const { return folder_ / "checkpoints" / "model.safetensors"; }

 private:
  std::vector<std::string> Command(int worker) const {
    return {FREEZEPIPE_BIN_DIR "/freezepipe-worker",
            "train",
            "--coordinator",
            "127.0.0.1:" + std::to_string(port_),
            "--job",
            kJob,
            "--worker",
            std::to_string(worker),
            "--host",
            "127.0.0.1"};
  }

  /// The port of the coordinator before may be in use for a moment still.
  std::unique_ptr<coordinator::CoordinatorServer> Listen() const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (true) {
      try {
        return coordinator::MakeCoordinatorServer(
            {.listen_address = "127.0.0.1:" + std::to_string(port_)});
      } catch (const std::runtime_error&) {
        if (std::chrono::steady_clock::now() > limit) throw;
        std::this_thread::yield();
      }
    }
  }

  void OnExit(int worker, cluster::WorkerEnd end) {
    const std::lock_guard lock(mutex_);
    exits_.push_back(end);
    if (session_) session_->OnWorkerExit(worker, std::move(end));
  }
  void Write(const FreezePipeJobStatus& status) override {
    const std::lock_guard lock(mutex_);
    record_ = status;
  }
  void OnEvent(const JobEvent& event) override {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    changed_.notify_all();
  }
  void OnOver(const FreezePipeJobStatus& status) override {
    const std::lock_guard lock(mutex_);
    end_ = status;
    changed_.notify_all();
  }

  const fs::path folder_;
  v1alpha1::FreezePipeJobSpec spec_;
  int port_ = 0;
  int term_ = 0;

  std::mutex mutex_;  // guards all below but server_ and cluster_
  std::condition_variable changed_;
  FreezePipeJobStatus record_;
  std::vector<JobEvent> events_;
  std::vector<cluster::WorkerEnd> exits_;
  std::optional<FreezePipeJobStatus> end_;
  std::unique_ptr<coordinator::CoordinatorServer> server_;
  std::unique_ptr<coordinator::SessionRunner> session_;
  cluster::LocalCluster cluster_;
};

class TakeOver : public testing::Test {
 protected:
  TakeOver() : spec_(SmallJob(folder_.path() / "data", 355)) {
    spec_.mutable_training()->set_epochs(20);  // 400 steps
    spec_.mutable_model()->mutable_zoo()->set_width_multiplier(0.125);
    spec_.mutable_worker()->set_count(3);
    spec_.mutable_checkpoint()->set_interval_steps(50);
    spec_.mutable_release()->set_time_share(0);
    spec_.mutable_freeze()->set_policy(v1alpha1::FreezePolicy::Schedule);
    spec_.mutable_freeze()->mutable_schedule()->set_start(0.2);
    spec_.mutable_freeze()->mutable_schedule()->set_end(0.7);
  }

  /// Every step's loss and all weights are those of the plain loop with the job's freeze log; no
  /// worker was lost, none stood still.
  void ExpectUnnoticed(TakenOverJob& job) {
    const auto end = job.AwaitEnd();
    ASSERT_EQ(end.state(), JobState::Succeeded) << end.message();
    EXPECT_EQ(end.restarts(), 0);
    EXPECT_GT(end.freed_workers(), 0);
    std::map<int, double> losses;
    for (const auto& event : job.events()) {
      EXPECT_FALSE(event.has_restored()) << event.ShortDebugString();
      EXPECT_FALSE(event.has_worker_lost()) << event.ShortDebugString();
      if (event.has_window_done()) losses[event.window_done().step()] = event.window_done().loss();
    }
    const auto plain = TrainPlainly(spec_, {end.freeze_log().begin(), end.freeze_log().end()});
    ExpectSameLosses(losses, plain.losses);
    Weights weights;
    for (const auto& [name, tensor] : worker::ReadSafetensors(job.weights())) {
      weights[name] = tensor;
    }
    ExpectSameWeights(weights, plain.weights);
    EXPECT_EQ(job.exits().size(), 3u) << "a process was started again";
    for (const auto& exit : job.exits()) EXPECT_TRUE(exit.clean) << exit.why;
  }

  worker::TestFolder folder_;
  v1alpha1::FreezePipeJobSpec spec_;
};

TEST_F(TakeOver, TrainingGoesOnWhileCoordinatorsComeAndGoAlsoInARepartition) {
  TakenOverJob job(folder_.path(), spec_);
  job.StartCoordinator();
  job.Await([](const JobEvent& event) { return event.has_window_done() && event.step() >= 20; });
  job.EndCoordinator();
  job.StartCoordinator();
  job.Await([](const JobEvent& event) {
    return event.has_state_changed() && event.state_changed().state() == JobState::Repartitioning;
  });
  job.EndCoordinator();
  job.StartCoordinator();
  ExpectUnnoticed(job);
}

TEST_F(TakeOver, ACoordinatorThatIsGoneAtTheEndIsWaitedFor) {
  TakenOverJob job(folder_.path(), spec_);
  job.StartCoordinator();
  job.Await([](const JobEvent& event) { return event.has_worker_released(); });
  job.EndCoordinator();
  // Long enough for the run's last checkpoint to be written by workers alone.
  const auto last = folder_.path() / "checkpoints" / "step-00000400.partial";
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!fs::exists(last) && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  ASSERT_TRUE(fs::exists(last));
  job.StartCoordinator();
  ExpectUnnoticed(job);
}

}  // namespace
}  // namespace freezepipe::training
