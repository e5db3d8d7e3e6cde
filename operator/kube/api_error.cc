#include "operator/kube/api_error.h"

#include <absl/strings/cord.h>
#include <absl/strings/str_cat.h>

#include <array>

namespace freezepipe::kube {
namespace {

using absl::StatusCode;

constexpr char kReasonUrl[] = "freezepipe.io/kubernetes-reason";
constexpr char kRetryAfterUrl[] = "freezepipe.io/kubernetes-retry-after-seconds";
constexpr size_t kMaxForeignText = 300;

struct KnownReason {
  int http_code;
  const char* reason;
  StatusCode code;
};

/// The first of an HTTP code stands for answers without a reason.
constexpr std::array kReasons = {
    KnownReason{400, "BadRequest", StatusCode::kInvalidArgument},
    KnownReason{401, "Unauthorized", StatusCode::kUnauthenticated},
    KnownReason{403, "Forbidden", StatusCode::kPermissionDenied},
    KnownReason{404, "NotFound", StatusCode::kNotFound},
    KnownReason{405, "MethodNotAllowed", StatusCode::kUnimplemented},
    KnownReason{409, "Conflict", StatusCode::kAborted},
    KnownReason{409, "AlreadyExists", StatusCode::kAlreadyExists},
    KnownReason{410, "Gone", StatusCode::kOutOfRange},
    KnownReason{410, "Expired", StatusCode::kOutOfRange},
    KnownReason{413, "RequestEntityTooLarge", StatusCode::kInvalidArgument},
    KnownReason{415, "UnsupportedMediaType", StatusCode::kInvalidArgument},
    KnownReason{422, "Invalid", StatusCode::kInvalidArgument},
    KnownReason{429, "TooManyRequests", StatusCode::kResourceExhausted},
    KnownReason{500, "InternalError", StatusCode::kInternal},
    KnownReason{500, "ServerTimeout", StatusCode::kUnavailable},
    KnownReason{503, "ServiceUnavailable", StatusCode::kUnavailable},
    KnownReason{504, "Timeout", StatusCode::kDeadlineExceeded},
};

const KnownReason* Find(int http_code, const std::string& reason) {
  const KnownReason* by_code = nullptr;
  for (const KnownReason& known : kReasons) {
    if (known.reason == reason) return &known;
    if (known.http_code == http_code && by_code == nullptr) by_code = &known;
  }
  return by_code;
}

absl::Status Make(int http_code, std::string reason, const std::string& message,
                  const std::string& doing, std::optional<std::chrono::seconds> retry_after) {
  const KnownReason* known = Find(http_code, reason);
  const StatusCode code = known ? known->code : StatusCode::kUnknown;
  if (reason.empty() && known) reason = known->reason;
  std::string words = absl::StrCat(doing, ": ", message);
  if (message.empty()) absl::StrAppend(&words, "HTTP ", http_code, " ", reason);
  absl::Status status(code, words);
  status.SetPayload(kReasonUrl, absl::Cord(reason));
  if (retry_after) {
    status.SetPayload(kRetryAfterUrl, absl::Cord(absl::StrCat(retry_after->count())));
  }
  return status;
}

absl::Status Make(const Json& status, int http_code, const std::string& doing,
                  std::optional<std::chrono::seconds> retry_after) {
  const Json::json_pointer retry("/details/retryAfterSeconds");
  if (status.contains(retry) && status.at(retry).is_number_integer()) {
    retry_after = std::chrono::seconds(status.at(retry).get<int64_t>());
  }
  const Json::json_pointer code("/code");
  if (status.contains(code) && status.at(code).is_number_integer()) {
    http_code = status.at(code).get<int>();
  }
  return Make(http_code, TextAt(status, Json::json_pointer("/reason")),
              TextAt(status, Json::json_pointer("/message")), doing, retry_after);
}

}  // namespace

absl::Status ApiError(int http_code, std::string_view body, const std::string& doing,
                      std::optional<std::chrono::seconds> retry_after) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && TextAt(json, Json::json_pointer("/kind")) == "Status") {
    return Make(json, http_code, doing, retry_after);
  }
  const std::string text =
      body.empty()
          ? ""
          : absl::StrCat("HTTP ", http_code, ": ", std::string(body.substr(0, kMaxForeignText)));
  return Make(http_code, "", text, doing, retry_after);
}

absl::Status ApiError(const Json& status, const std::string& doing) {
  return Make(status, 500, doing, std::nullopt);
}

std::string Reason(const absl::Status& status) {
  const auto payload = status.GetPayload(kReasonUrl);
  return payload ? std::string(*payload) : "";
}

std::optional<std::chrono::seconds> RetryAfter(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryAfterUrl);
  if (!payload) return std::nullopt;
  return std::chrono::seconds(std::stoll(std::string(*payload)));
}

bool IsConflict(const absl::Status& status) { return Reason(status) == "Conflict"; }
bool IsInvalid(const absl::Status& status) {
  // The latter is about its form: a field that isn't known, a value of another type.
  return Reason(status) == "Invalid" || Reason(status) == "BadRequest";
}

bool IsGone(const absl::Status& status) {
  const std::string reason = Reason(status);
  return reason == "Gone" || reason == "Expired";
}

}  // namespace freezepipe::kube
