#pragma once

#include "operator/kube/time.h"

namespace freezepipe::kube {

/// So many a second, and a burst of so many at once after a rest. Pure: the time is told. Not
/// thread-safe.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst);

  /// Takes one token, which may have yet to come, and says how long to wait for it.
  Duration Take(TimePoint now);

 private:
  const double per_second_;
  const double burst_;
  /// Below 0: promised, not there yet.
  double tokens_;
  TimePoint counted_at_ = TimePoint::min();
};

}  // namespace freezepipe::kube
