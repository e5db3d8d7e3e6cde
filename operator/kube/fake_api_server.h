#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "operator/kube/object.h"
#include "operator/kube/transport.h"

namespace freezepipe::kube {

/// An API server in memory, for tests: create, get, list (label selectors "a=b,c", pages), merge
/// patch with resourceVersion, status subresource, apply (as a merge patch that may create), delete
/// with preconditions, and watches. It checks no schema, and deletes at once unless there are
/// finalizers. Thread-safe.
class FakeApiServer : public Transport {
 public:
  absl::StatusOr<HttpResponse> Send(const HttpRequest& request, std::stop_token stop) override;
  absl::StatusOr<HttpResponse> Stream(
      const HttpRequest& request, std::stop_token stop,
      absl::FunctionRef<void(std::string_view line)> on_line) override;

  /// The next requests, of whatever kind, end like this instead, in the order given.
  void FailNext(absl::StatusOr<HttpResponse> outcome, int times = 1);
  /// Away: every request and watch ends with kUnavailable, until it is back.
  void SetAway(bool away);
  /// History goes, as when etcd compacts it: older resource versions are Expired. Watches end.
  void Compact();

  /// "GET /api/v1/pods?watch=true..." of every request, failed ones too.
  std::vector<std::string> Requests() const;
  /// Null if there is none at this path.
  std::optional<Json> Find(const std::string& path) const;

 private:
  /// apiVersion as in the path ("api/v1"), plural, namespace, name.
  using Id = std::tuple<std::string, std::string, std::string, std::string>;
  struct Event {
    uint64_t version;
    Id id;
    std::string type;
    Json object;
  };
  struct Target;

  std::optional<absl::StatusOr<HttpResponse>> Prepared(const HttpRequest& request);
  HttpResponse Handle(const HttpRequest& request);
  HttpResponse Create(const Target& target, Json object);
  HttpResponse Patch(const Target& target, const Json& patch, bool may_create);
  HttpResponse Delete(const Target& target, const Json& options);
  HttpResponse List(const Target& target) const;
  /// Stores it under a new version; deleted when it waited for its last finalizer.
  Json Store(const Id& id, const std::string& type, Json object);

  /// Guards all below.
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Id, Json> objects_;
  std::deque<Event> history_;
  uint64_t version_ = 1;
  uint64_t compacted_ = 0;
  uint64_t uids_ = 0;
  bool away_ = false;
  std::deque<absl::StatusOr<HttpResponse>> failures_;
  std::vector<std::string> requests_;
};

}  // namespace freezepipe::kube
