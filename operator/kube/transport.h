#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "operator/kube/time.h"

namespace freezepipe::kube {

enum class Method { kGet, kPost, kPatch, kDelete };

struct HttpRequest {
  Method method = Method::kGet;
  /// Path and query, encoded.
  std::string target;
  std::string content_type = "application/json";
  std::string body{};
  /// For the whole answer; of a stream, the longest that it may be silent.
  Duration timeout = std::chrono::seconds(30);
};

struct HttpResponse {
  int code = 0;
  /// Empty of a stream that was handed out line by line.
  std::string body;
  std::optional<std::chrono::seconds> retry_after;
};

/// One API server, reached as someone. Calls block, on any thread, until there is an answer; every
/// HTTP code is one. Errors: kUnavailable (no connection, refused by TLS, connection lost),
/// kDeadlineExceeded, kCancelled (`stop`), and those of reading the token. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual absl::StatusOr<HttpResponse> Send(const HttpRequest& request, std::stop_token stop) = 0;

  /// The lines of a 200, as they come, on the caller's thread, until the server ends its answer.
  /// Other codes answer as Send does.
  virtual absl::StatusOr<HttpResponse> Stream(
      const HttpRequest& request, std::stop_token stop,
      absl::FunctionRef<void(std::string_view line)> on_line) = 0;
};

}  // namespace freezepipe::kube
