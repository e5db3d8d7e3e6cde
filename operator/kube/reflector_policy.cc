#include "operator/kube/reflector_policy.h"

#include <algorithm>

#include "operator/kube/api_error.h"

namespace freezepipe::kube {
namespace {

constexpr std::chrono::seconds kShortestWatch(1);
constexpr std::chrono::seconds kWatchDuration(300);

/// The server wasn't reached, the connection broke, or it has too much to do: nothing that speaks
/// against the resource version.
bool MayGoOn(const absl::Status& status) {
  const std::string reason = Reason(status);
  if (reason.empty()) return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  return reason == "TooManyRequests" || reason == "ServiceUnavailable";
}

}  // namespace

ReflectorPolicy::Next ReflectorPolicy::AfterList(const absl::Status& status, TimePoint now) {
  if (status.ok()) return {.list = false, .wait = Duration::zero()};
  return {.list = true, .wait = Wait(status, now)};
}

ReflectorPolicy::Next ReflectorPolicy::AfterWatch(const WatchEnd& end, TimePoint now) {
  if (!end.status.ok()) return {.list = !MayGoOn(end.status), .wait = Wait(end.status, now)};
  if (end.lasted >= kShortestWatch || end.brought_events) {
    return {.list = false, .wait = Duration::zero()};
  }
  // Ended at once, with nothing said: some servers and proxies mean "too old" by this.
  return {.list = true, .wait = Wait(end.status, now)};
}

std::chrono::seconds ReflectorPolicy::WatchDuration() {
  return kWatchDuration +
         std::chrono::duration_cast<std::chrono::seconds>(kWatchDuration * random_());
}

Duration ReflectorPolicy::Wait(const absl::Status& status, TimePoint now) {
  const Duration asked = RetryAfter(status).value_or(std::chrono::seconds(0));
  return std::max(asked, backoff_.Next(now));
}

}  // namespace freezepipe::kube
