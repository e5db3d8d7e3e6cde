#pragma once

#include <absl/status/status.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "operator/kube/object.h"

namespace freezepipe::kube {

/// An answer of the API server that isn't a success, as a status: the server's own words, its
/// reason kept. `doing` comes first in the message: "get pods a/b". An answer without a Status in
/// it (a proxy's) is named after its HTTP code.
absl::Status ApiError(int http_code, std::string_view body, const std::string& doing,
                      std::optional<std::chrono::seconds> retry_after = std::nullopt);

/// The same of a Status object that came inside a stream.
absl::Status ApiError(const Json& status, const std::string& doing);

/// The server's reason ("NotFound", "Conflict", "AlreadyExists", "Expired", "Forbidden",
/// "Invalid"...); empty if the API server didn't answer.
std::string Reason(const absl::Status& status);

/// How long the server asked to wait.
std::optional<std::chrono::seconds> RetryAfter(const absl::Status& status);

// For NotFound and AlreadyExists there are absl's own functions.

/// The object is another version, or another object (uid), than the request was made for.
bool IsConflict(const absl::Status& status);
/// The resource version or the continue token is too old: list anew.
bool IsGone(const absl::Status& status);
/// The API server understood and doesn't accept the object.
bool IsInvalid(const absl::Status& status);

}  // namespace freezepipe::kube
