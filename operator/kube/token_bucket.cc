#include "operator/kube/token_bucket.h"

#include <algorithm>

namespace freezepipe::kube {

using Seconds = std::chrono::duration<double>;

TokenBucket::TokenBucket(double per_second, double burst)
    : per_second_(per_second), burst_(burst), tokens_(burst) {}

Duration TokenBucket::Take(TimePoint now) {
  if (counted_at_ != TimePoint::min() && now > counted_at_) {
    const double passed = Seconds(now - counted_at_).count();
    tokens_ = std::min(burst_, tokens_ + passed * per_second_);
  }
  counted_at_ = std::max(counted_at_, now);
  tokens_ -= 1;
  if (tokens_ >= 0) return Duration::zero();
  return std::chrono::duration_cast<Duration>(Seconds(-tokens_ / per_second_));
}

}  // namespace freezepipe::kube
