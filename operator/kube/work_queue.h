#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "operator/kube/queue_state.h"
#include "operator/kube/retry_pace.h"

namespace freezepipe::kube {

/// Keys to work on, for any number of threads:
///
///     while (auto key = queue.Take(stop)) {
///       if (Reconcile(*key).ok()) queue.Forget(*key); else queue.Retry(*key);
///       queue.Done(*key);
///     }
///
/// No key is worked on by two threads at once, and none that was added is lost. Thread-safe.
class WorkQueue {
 public:
  void Add(const std::string& key);
  void AddAfter(const std::string& key, Duration delay);
  /// After a failure: again, the later the more often it has failed (RetryPace).
  void Retry(const std::string& key);
  /// After a success: its failures no longer count.
  void Forget(const std::string& key);
  int Failures(const std::string& key) const;

  /// Waits for a key; none when `stop` came.
  std::optional<std::string> Take(std::stop_token stop);
  /// For every key taken.
  void Done(const std::string& key);

  /// Keys that nobody works on yet.
  size_t waiting() const;

 private:
  /// Guards both below.
  mutable std::mutex mutex_;
  QueueState state_;
  RetryPace pace_;
  std::condition_variable_any changed_;
};

}  // namespace freezepipe::kube
