#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "freezepipe/v1alpha1/coordinator.pb.h"

namespace freezepipe::worker {

/// Completes and finds checkpoints beside training, one after another on a thread of its own.
/// Thread-safe.
class CheckpointKeeper {
 public:
  using Say = std::function<void(v1alpha1::WorkerMessage)>;

  /// `say` hears the answers, from another thread.
  explicit CheckpointKeeper(Say say);
  /// Carries out what was asked for.
  ~CheckpointKeeper();

  /// Answered by CheckpointCompleted, or by a Failure.
  void Complete(std::string checkpoints, v1alpha1::CompleteCheckpoint order);
  /// Answered by CheckpointFound.
  void Find(std::string checkpoints);
  /// Waits until all of it is answered.
  void Wait();

 private:
  void Add(std::function<void()> task);
  void Run(std::stop_token stop);

  const Say say_;
  std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  /// The front one is being carried out.
  std::deque<std::function<void()>> tasks_;
  std::jthread thread_;
};

}  // namespace freezepipe::worker
