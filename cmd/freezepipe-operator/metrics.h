#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

namespace freezepipe::operator_program {

/// What the operator tells of itself. Thread-safe.
class Metrics {
 public:
  Metrics();

  /// In Prometheus' text format.
  std::string Text() const;

 private:
  prometheus::Registry registry_;

 public:
  /// Seconds of each reconciliation, its API calls included.
  prometheus::Histogram& reconcile_seconds;
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
