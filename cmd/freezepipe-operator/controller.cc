#include "cmd/freezepipe-operator/controller.h"

#include <absl/strings/str_cat.h>

#include <chrono>
#include <utility>

#include "cmd/freezepipe-operator/log.h"

namespace freezepipe::operator_program {

std::chrono::duration<double>& RequestTimeOfThisThread() {
  thread_local std::chrono::duration<double> time{};
  return time;
}

Controller::Controller(int threads, kube::WorkQueue& queue, Lookup reconciler_of, Metrics& metrics)
    : queue_(queue), reconciler_of_(std::move(reconciler_of)), metrics_(metrics) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
  }
}

void Controller::Run(const std::stop_token& stop) {
  while (const auto job = queue_.Take(stop)) {
    metrics_.queue_length.Set(static_cast<double>(queue_.waiting()));
    Reconcile(*job);
    queue_.Done(*job);
  }
}

void Controller::Reconcile(const std::string& job) {
  const auto begun = kube::SteadyClock::now();
  const auto requests_before = RequestTimeOfThisThread();
  const kube::ObjectKey key = kube::ParseKey(job);
  const auto again = reconciler_of_(key.ns).Reconcile(key);
  const std::chrono::duration<double> took = kube::SteadyClock::now() - begun;
  metrics_.reconcile_seconds.Observe(took.count());
  const auto of_requests = RequestTimeOfThisThread() - requests_before;
  metrics_.reconcile_own_seconds.Observe((took - of_requests).count());
  if (!again.ok()) {
    metrics_.reconcile_errors.Increment();
    LogWarning(absl::StrCat("job ", job, ": ", std::string(again.status().message())));
    queue_.Retry(job);
    return;
  }
  queue_.Forget(job);
  if (*again) queue_.AddAfter(job, **again);
}

}  // namespace freezepipe::operator_program
