#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace freezepipe::coordinator {

/// Runs tasks one after the other, in the order they were posted, on a thread of its own.
/// Thread-safe.
class Strand {
 public:
  using Task = std::function<void()>;

  /// `tick` runs once a period, between tasks; periods that passed during a long task are made up
  /// by one tick.
  Strand(std::chrono::milliseconds period, Task tick);
  /// Waits for the task under way; tasks that have not begun never run.
  ~Strand();
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  void Post(Task task);

 private:
  void Run(std::stop_token stop);

  const std::chrono::milliseconds period_;
  const Task tick_;
  /// Guards tasks_.
  std::mutex mutex_;
  std::condition_variable_any posted_;
  std::deque<Task> tasks_;
  /// Last: it uses all of the above.
  std::jthread thread_;
};

}  // namespace freezepipe::coordinator
