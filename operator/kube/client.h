#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "operator/kube/resource.h"
#include "operator/kube/token_bucket.h"
#include "operator/kube/transport.h"
#include "operator/kube/watch_event.h"

namespace freezepipe::kube {

struct ClientOptions {
  /// Who changes fields, for server-side apply and managedFields.
  std::string field_manager = "freezepipe-operator";
  /// The one rate limit of this client, watches included; as many may go at once after a rest.
  double requests_per_second = 500;
  /// For each request (each page of a list).
  Duration timeout = std::chrono::seconds(30);
  /// Told of every request that the rate limit held up.
  std::function<void(Duration wait)> on_throttled{};
  /// Once requested, every call ends with kCancelled, those under way too.
  std::stop_token stop{};
};

/// Which objects of a resource.
struct Selection {
  /// Empty: all namespaces.
  std::string ns{};
  std::string labels{};
  std::string fields{};
};

struct ObjectList {
  std::vector<Json> items;
  /// Where a watch goes on from.
  std::string resource_version;
};

struct CreateOptions {
  /// All checks, nothing stored; fields that the server doesn't know are errors then.
  bool dry_run = false;
};

enum class Propagation { kBackground, kForeground, kOrphan };

struct DeleteOptions {
  Propagation propagation = Propagation::kBackground;
  /// Empty: whichever it is.
  std::string uid{};
  std::string resource_version{};
  /// Negative: what the object says.
  int grace_period_seconds = -1;
};

struct WatchOptions {
  Selection selection;
  std::string resource_version;
  /// The server ends the watch after this time.
  std::chrono::seconds duration{300};
};

/// Requests to one API server. Errors: those of Transport, and of ApiError when the server refused,
/// with its reason.
///
/// Threads of this folder. Every call of Client blocks its caller and may be made on any thread but
/// those of cpprestsdk, which do the input and output alone. A Reflector has one thread, the only
/// one that writes to its Cache and that calls the Cache's handlers, one after the other; handlers
/// put keys into a WorkQueue and return. Any number of threads take keys from a WorkQueue, which
/// never gives one key to two of them at once, and read Caches, whose objects nobody changes. A
/// LeaderElector and an EventRecorder have a thread each; the elector's callbacks run on it. All
/// classes that have a thread end it in their destructor.
class Client {
 public:
  Client(std::shared_ptr<Transport> transport, ClientOptions options);

  absl::StatusOr<Json> Get(const Resource& resource, const ObjectKey& key);

  /// Page by page. All items say their apiVersion and kind.
  absl::StatusOr<ObjectList> List(const Resource& resource, const Selection& selection);

  /// What the server made of it.
  absl::StatusOr<Json> Create(const Resource& resource, const Json& object,
                              const CreateOptions& options = {});

  /// A JSON merge patch. With metadata.resourceVersion in it, it fails (IsConflict) if the object
  /// has changed since.
  absl::StatusOr<Json> Patch(const Resource& resource, const ObjectKey& key, const Json& patch);
  /// The same of the status subresource; `patch` has a field "status".
  absl::StatusOr<Json> PatchStatus(const Resource& resource, const ObjectKey& key,
                                   const Json& patch);

  /// Server-side apply: `object` is all that this field manager wants, with apiVersion, kind and
  /// name. Fields that others own are taken over.
  absl::StatusOr<Json> Apply(const Resource& resource, const Json& object);

  absl::Status Delete(const Resource& resource, const ObjectKey& key,
                      const DeleteOptions& options = {});

  /// Calls `on_event` on the caller's thread until the server ends the watch (OK), there is an
  /// error (in the stream or before), or `stop`.
  absl::Status Watch(const Resource& resource, const WatchOptions& options, std::stop_token stop,
                     absl::FunctionRef<void(WatchEvent event)> on_event);

 private:
  absl::Status AwaitTurn(const std::stop_token& stop);
  /// The answer's JSON. `doing` begins error messages.
  absl::StatusOr<Json> Call(HttpRequest request, const std::string& doing);
  absl::StatusOr<Json> MergePatch(const Resource& resource, const ObjectKey& key, const Json& patch,
                                  std::string_view subresource);
  absl::StatusOr<ObjectList> ListPages(const Resource& resource, const Selection& selection,
                                       int page_size);

  const std::shared_ptr<Transport> transport_;
  const ClientOptions options_;
  /// Guards bucket_.
  std::mutex mutex_;
  TokenBucket bucket_;
};

}  // namespace freezepipe::kube
