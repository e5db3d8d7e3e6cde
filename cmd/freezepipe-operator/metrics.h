#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "operator/kube/transport.h"

namespace freezepipe::operator_program {

/// What the operator tells of itself. Thread-safe.
class Metrics {
 public:
  Metrics();

  /// In Prometheus' text format.
  std::string Text() const;

  /// A request to the API server, and the HTTP code of its answer; 0: there was none.
  void CountRequest(kube::Method method, int code);

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& requests_;

 public:
  /// Seconds of each reconciliation, its API calls included.
  prometheus::Histogram& reconcile_seconds;
  /// The same without them.
  prometheus::Histogram& reconcile_own_seconds;
  prometheus::Counter& reconcile_errors;
  /// Jobs that wait to be reconciled.
  prometheus::Gauge& queue_length;
  /// Seconds that requests waited for the client's rate limit.
  prometheus::Histogram& throttled_seconds;
  /// Failed lists and watches.
  prometheus::Counter& watch_errors;
  /// 1 on the replica that leads.
  prometheus::Gauge& leader;
};

}  // namespace freezepipe::operator_program
