#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <string>

#include "operator/coordinator/order_sink.h"
#include "operator/coordinator/session_runner.h"
#include "operator/coordinator/strand.h"

namespace freezepipe::coordinator {

/// The session on a strand. What it asks for is carried out on the strand too, in order; what comes
/// of that is told to it before anything that was posted meanwhile. Thread-safe.
class StrandSessionRunner : public SessionRunner {
 public:
  /// `orders` and the collaborators outlive the runner.
  StrandSessionRunner(JobSetup setup, OrderSink* orders, Collaborators collaborators,
                      std::chrono::milliseconds tick_period = std::chrono::seconds(1));

  void Start() override;
  void Post(Event event) override;
  v1alpha1::FreezePipeJobStatus Status() const override;
  void OnWorkerExit(int worker, cluster::WorkerEnd end) override;

 private:
  void Handle(Event event);
  void CarryOut(Action action, std::deque<Event>& outcomes);
  Seconds Now() const;

  OrderSink* const orders_;
  const Collaborators collaborators_;
  const std::chrono::steady_clock::time_point epoch_ = std::chrono::steady_clock::now();
  /// Touched on the strand alone.
  JobSession session_;
  bool deposed_ = false;
  /// Guards status_.
  mutable std::mutex mutex_;
  v1alpha1::FreezePipeJobStatus status_;
  /// Last: its thread uses all of the above.
  Strand strand_;
};

}  // namespace freezepipe::coordinator
