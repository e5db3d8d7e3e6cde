#pragma once

#include <functional>

#include "operator/kube/time.h"

namespace freezepipe::kube {

/// Draws from [0, 1).
using Random = std::function<double()>;

/// Thread-safe, seeded by the system.
Random SystemRandom();

/// Waits between attempts: 0.8 s doubling up to 30 s, each lengthened at random by up to as much
/// again, so that many clients don't come back together. Starts over when two minutes passed
/// without one. Pure: time and chance are told.
class Backoff {
 public:
  explicit Backoff(Random random) : random_(std::move(random)) {}

  Duration Next(TimePoint now);

 private:
  Random random_;
  Duration next_ = Duration::zero();
  TimePoint last_ = TimePoint::min();
};

}  // namespace freezepipe::kube
