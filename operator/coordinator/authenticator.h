#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>

#include "freezepipe/v1alpha1/coordinator.pb.h"

namespace freezepipe::coordinator {

/// Says whether a stream is the worker's that its Hello names. Thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;

  /// `token` is the bearer token of the call. `done` is called once, on any thread, also before
  /// this returns; what isn't OK closes the stream: UNAUTHENTICATED or PERMISSION_DENIED where the
  /// token doesn't speak for that worker, UNAVAILABLE where that can't be told now.
  virtual void Authenticate(const std::string& token, const v1alpha1::Hello& hello,
                            std::function<void(absl::Status)> done) = 0;
};

}  // namespace freezepipe::coordinator
