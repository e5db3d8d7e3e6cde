#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "operator/cluster/cluster.h"
#include "operator/coordinator/session_runner.h"
#include "proto/defaults.h"

namespace freezepipe::coordinator {

/// Keeps what the runner hands out, for a test's thread to wait for. Thread-safe.
class TestCollaborators : public RecordStore, public Listener, public cluster::Cluster {
 public:
  void Write(const v1alpha1::FreezePipeJobStatus& status) override {
    std::lock_guard lock(mutex_);
    if (disk_full_) throw std::runtime_error("disk full");
    records_.push_back(status);
    changed_.notify_all();
  }
  void OnEvent(const v1alpha1::JobEvent& event) override {
    std::lock_guard lock(mutex_);
    events_.push_back(event);
    changed_.notify_all();
  }
  void OnOver(const v1alpha1::FreezePipeJobStatus& status) override {
    std::lock_guard lock(mutex_);
    end_ = status;
    changed_.notify_all();
  }
  void Launch(int worker) override {
    std::lock_guard lock(mutex_);
    launched_.push_back(worker);
    changed_.notify_all();
  }
  void Kill(int worker) override {
    std::lock_guard lock(mutex_);
    killed_.push_back(worker);
    changed_.notify_all();
  }

  Collaborators All() { return {.cluster = this, .records = this, .listener = this}; }

  void FillDisk() {
    std::lock_guard lock(mutex_);
    disk_full_ = true;
  }

  void WaitForLaunches(size_t count) {
    Wait([&] { return launched_.size() >= count; });
  }
  v1alpha1::FreezePipeJobStatus WaitForEnd() {
    Wait([&] { return end_.has_value(); });
    std::lock_guard lock(mutex_);
    return *end_;
  }
  /// An event that the test accepts.
  void WaitForEvent(const std::function<bool(const v1alpha1::JobEvent&)>& accepts) {
    Wait([&] {
      for (const auto& event : events_) {
        if (accepts(event)) return true;
      }
      return false;
    });
  }
  size_t records() {
    std::lock_guard lock(mutex_);
    return records_.size();
  }

 private:
  void Wait(const std::function<bool()>& done) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(60), done)) {
      throw std::runtime_error("waited in vain");
    }
  }

  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  bool disk_full_ = false;
  std::vector<v1alpha1::FreezePipeJobStatus> records_;
  std::vector<v1alpha1::JobEvent> events_;
  std::vector<int> launched_;
  std::vector<int> killed_;
  std::optional<v1alpha1::FreezePipeJobStatus> end_;
};

inline JobSetup TwoWorkerSetup(const std::string& checkpoint_directory) {
  JobSetup setup;
  setup.spec.mutable_worker()->set_count(2);
  setup.spec.mutable_freeze()->set_policy(v1alpha1::FreezePolicy::None);
  ApplyDefaults(&setup.spec);
  setup.layer_names = {"a", "b", "c", "d"};
  setup.shape = {4, 100, 20, 10};
  setup.checkpoint_directory = checkpoint_directory;
  return setup;
}

/// What a well-behaved worker answers at once; Start is answered by Finished.
inline std::vector<v1alpha1::WorkerMessage> Answers(int worker, const v1alpha1::Order& order) {
  std::vector<v1alpha1::WorkerMessage> answers;
  if (order.has_profile()) {
    auto* profile = answers.emplace_back().mutable_profile()->mutable_profile();
    for (int layer = 0; layer < 4; ++layer) {
      auto* measured = profile->add_layers();
      measured->set_forward_seconds(0.01);
      measured->set_backward_seconds(0.02);
    }
  } else if (order.has_prepare()) {
    answers.emplace_back().mutable_prepared()->set_generation(order.prepare().plan().generation());
  } else if (order.has_start()) {
    auto* step = answers.emplace_back().mutable_step();
    step->set_generation(order.start().generation());
    step->set_step(100);
    answers.emplace_back().mutable_finished()->set_step(100);
  } else if (order.has_abort()) {
    answers.emplace_back().mutable_aborted()->set_generation(order.abort().generation());
  }
  return answers;
}

}  // namespace freezepipe::coordinator
