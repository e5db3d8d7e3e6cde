#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <pplx/pplxtasks.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "operator/kube/time.h"

namespace freezepipe::kube {

/// Waits for a task of cpprestsdk, on a thread that isn't one of its own. An exception of the task
/// is kUnavailable. At the deadline, or when asked to stop, the task is left to itself: who started
/// it cancels it.
template <typename T>
absl::StatusOr<T> Await(const pplx::task<T>& task, TimePoint deadline,
                        const std::stop_token& stop) {
  struct Outcome {
    /// Guards result.
    std::mutex mutex;
    std::condition_variable_any arrived;
    std::optional<absl::StatusOr<T>> result;
  };
  auto outcome = std::make_shared<Outcome>();
  task.then([outcome](const pplx::task<T>& finished) {
    absl::StatusOr<T> result = absl::UnknownError("");
    try {
      result = finished.get();
    } catch (const std::exception& error) {
      result = absl::UnavailableError(error.what());
    }
    std::lock_guard lock(outcome->mutex);
    outcome->result = std::move(result);
    outcome->arrived.notify_all();
  });
  std::unique_lock lock(outcome->mutex);
  const auto arrived = [&] { return outcome->result.has_value(); };
  if (outcome->arrived.wait_until(lock, stop, deadline, arrived)) {
    return *std::move(outcome->result);
  }
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  return absl::DeadlineExceededError("no answer in time");
}

}  // namespace freezepipe::kube
