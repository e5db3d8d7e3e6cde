#include "cmd/freezepipe-operator/metrics.h"

#include <prometheus/text_serializer.h>

namespace freezepipe::operator_program {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

prometheus::Histogram& Histogram(prometheus::Registry& registry, const char* name,
                                 const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, kSeconds);
}

prometheus::Counter& Counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& Gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

const char* Verb(kube::Method method) {
  switch (method) {
    case kube::Method::kGet:
      return "get";
    case kube::Method::kPost:
      return "post";
    case kube::Method::kPatch:
      return "patch";
    case kube::Method::kDelete:
      return "delete";
  }
  return "";
}

}  // namespace

Metrics::Metrics()
    : requests_(prometheus::BuildCounter()
                    .Name("freezepipe_operator_api_requests_total")
                    .Help("Requests to the API server by HTTP method and code of the answer; "
                          "code 0: there was none")
                    .Register(registry_)),
      reconcile_seconds(Histogram(registry_, "freezepipe_operator_reconcile_seconds",
                                  "Seconds of a reconciliation, API calls included")),
      reconcile_own_seconds(Histogram(registry_, "freezepipe_operator_reconcile_own_seconds",
                                      "Seconds of a reconciliation outside API calls")),
      reconcile_errors(Counter(registry_, "freezepipe_operator_reconcile_errors_total",
                               "Reconciliations that failed and are tried again")),
      queue_length(
          Gauge(registry_, "freezepipe_operator_queue_length", "Jobs that wait to be reconciled")),
      throttled_seconds(Histogram(registry_, "freezepipe_operator_request_throttled_seconds",
                                  "Seconds that requests waited for the client's rate limit")),
      watch_errors(Counter(registry_, "freezepipe_operator_watch_errors_total",
                           "Lists and watches that failed and are tried again")),
      leader(Gauge(registry_, "freezepipe_operator_leader", "1 on the replica that leads")) {}

void Metrics::CountRequest(kube::Method method, int code) {
  requests_.Add({{"method", Verb(method)}, {"code", std::to_string(code)}}).Increment();
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

}  // namespace freezepipe::operator_program
