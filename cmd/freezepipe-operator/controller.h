#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "cmd/freezepipe-operator/metrics.h"
#include "operator/kube/work_queue.h"
#include "operator/reconciler/reconciler.h"

namespace freezepipe::operator_program {

/// Seconds that this thread has spent on requests so far.
std::chrono::duration<double>& RequestTimeOfThisThread();

/// Takes jobs from the queue and has them reconciled, on some threads, until it is destroyed.
class Controller {
 public:
  /// The reconciler of a namespace.
  using Lookup = std::function<reconciler::Reconciler&(const std::string& ns)>;

  /// All outlive it.
  Controller(int threads, kube::WorkQueue& queue, Lookup reconciler_of, Metrics& metrics);

 private:
  void Run(const std::stop_token& stop);
  void Reconcile(const std::string& job);

  kube::WorkQueue& queue_;
  const Lookup reconciler_of_;
  Metrics& metrics_;
  /// Last: they use all of the above.
  std::vector<std::jthread> threads_;
};

}  // namespace freezepipe::operator_program
