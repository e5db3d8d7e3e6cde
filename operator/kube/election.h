#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator/kube/lease.h"
#include "operator/kube/time.h"

namespace freezepipe::kube {

/// Whether this candidate may hold the lease:
///
///     1 somebody's   another holds it, and it was last seen to change less than its duration ago
///     2 free         nobody holds it, there is none, or it hasn't changed for its duration
///     3 ours         written by us less than the renew deadline ago
///     4 lost         was ours; another holds it, or no write succeeded in time. Final
///
///     1 <-> 2, 2 -> 3, 3 -> 4
///
/// Only this machine's steady clock counts, from when a change was seen: clocks of other machines
/// may be wrong. Pure: the time is told.
class Election {
 public:
  Election(std::string identity, std::chrono::seconds lease_duration, Duration renew_deadline);

  /// The lease as it was read at `now`; null: there is none.
  void Observe(const Json* lease, TimePoint now);

  /// What to write to take or keep the lease; none in states 1 and 4. `wall` is for people to read.
  std::optional<LeaseSpec> Claim(TimePoint now, WallTime wall) const;
  /// The claim was written; the request was sent at `sent`.
  void Won(const LeaseSpec& claim, TimePoint sent);

  /// Further claims count at least so many transitions.
  void Raise(int64_t transitions) { least_transitions_ = transitions; }

  /// Gives it up: what to write; none if it isn't ours.
  std::optional<LeaseSpec> Release(TimePoint now, WallTime wall);

  /// leaseTransitions while the lease is ours (3).
  std::optional<int64_t> Term(TimePoint now) const;
  /// It was ours and isn't any more (4).
  bool Lost(TimePoint now) const { return won_ && !Term(now); }
  /// When it stops being ours unless renewed.
  TimePoint HeldUntil() const { return sent_ + renew_deadline_; }
  const std::string& holder() const { return seen_.holder; }

 private:
  const std::string identity_;
  const std::chrono::seconds lease_duration_;
  const Duration renew_deadline_;
  /// The last state seen or written, and when it was first seen.
  LeaseSpec seen_;
  TimePoint changed_;
  /// There has been a lease.
  bool existed_ = false;
  bool won_ = false;
  /// Taken away, or given up.
  bool ended_ = false;
  TimePoint sent_;
  int64_t least_transitions_ = 0;
};

}  // namespace freezepipe::kube
