#include "operator/kube/backoff.h"

#include <algorithm>
#include <random>

namespace freezepipe::kube {
namespace {

constexpr std::chrono::milliseconds kFirst(800);
constexpr std::chrono::seconds kLongest(30);
constexpr std::chrono::minutes kHealthy(2);

}  // namespace

Random SystemRandom() {
  return [] {
    thread_local std::mt19937_64 engine{std::random_device()()};
    return std::uniform_real_distribution<double>(0, 1)(engine);
  };
}

Duration Backoff::Next(TimePoint now) {
  if (last_ == TimePoint::min() || now - last_ > kHealthy) next_ = kFirst;
  last_ = now;
  const Duration wait = next_;
  next_ = std::min<Duration>(next_ * 2, kLongest);
  return wait + std::chrono::duration_cast<Duration>(wait * random_());
}

}  // namespace freezepipe::kube
