#pragma once

#include <functional>
#include <string>
#include <thread>

#include "operator/kube/cache.h"
#include "operator/kube/client.h"
#include "operator/kube/reflector_policy.h"

namespace freezepipe::kube {

/// Keeps a Cache as the API server has it:
///
///     list ----> watch from the list's resource version --+
///      ^           ^                                      |
///      |           '-- ended, connection lost ------------+
///      '-- too old (410, in either form), ended at once, -'
///          anything else that leaves doubt
///
/// with a back-off after every failure. A list that follows a gap finds out what was deleted in it.
class Reflector {
 public:
  /// Told of every failed list and watch, on the Reflector's thread; it goes on by itself.
  using ErrorHandler = std::function<void(const absl::Status& error)>;

  /// Starts at once. `client` and `cache` outlive it. Its end waits for a list under way, which the
  /// client's own stop cuts short.
  Reflector(Client& client, Resource resource, Selection selection, Cache& cache,
            ErrorHandler on_error, Random random = SystemRandom());

 private:
  void Run(const std::stop_token& stop);
  ReflectorPolicy::Next List();
  ReflectorPolicy::Next Watch(const std::stop_token& stop);

  Client& client_;
  const Resource resource_;
  const Selection selection_;
  Cache& cache_;
  const ErrorHandler on_error_;
  ReflectorPolicy policy_;
  std::string resource_version_;
  /// Last: it uses all of the above.
  std::jthread thread_;
};

}  // namespace freezepipe::kube
