#include "operator/kube/retry_pace.h"

#include <algorithm>

namespace freezepipe::kube {
namespace {

constexpr std::chrono::milliseconds kFirst(5);
constexpr std::chrono::seconds kLongest(1000);
/// 5 ms * 2^18 is above the longest.
constexpr int kMostDoublings = 18;

}  // namespace

Duration RetryPace::Next(const std::string& key, TimePoint now) {
  const int failures = failures_[key]++;
  const Duration own =
      std::min<Duration>(kFirst * (1 << std::min(failures, kMostDoublings)), kLongest);
  return std::max(own, all_.Take(now));
}

int RetryPace::Failures(const std::string& key) const {
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

}  // namespace freezepipe::kube
