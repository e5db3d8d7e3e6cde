#include "operator/kube/election.h"

#include <algorithm>
#include <utility>

namespace freezepipe::kube {

Election::Election(std::string identity, std::chrono::seconds lease_duration,
                   Duration renew_deadline)
    : identity_(std::move(identity)),
      lease_duration_(lease_duration),
      renew_deadline_(renew_deadline) {}

void Election::Observe(const Json* lease, TimePoint now) {
  LeaseSpec read;
  if (lease) {
    read = ReadLease(*lease);
    existed_ = true;
  } else {
    // One that was deleted goes on counting where it stood: terms never go back.
    read.acquired = seen_.acquired;
    read.transitions = seen_.transitions;
  }
  if (read != seen_) {
    seen_ = std::move(read);
    changed_ = now;
  }
  if (won_ && !seen_.holder.empty() && seen_.holder != identity_) ended_ = true;
}

std::optional<LeaseSpec> Election::Claim(TimePoint now, WallTime wall) const {
  if (Lost(now)) return std::nullopt;
  const bool anothers = !seen_.holder.empty() && seen_.holder != identity_;
  const bool runs = now < changed_ + std::chrono::seconds(seen_.duration_seconds);
  if (anothers && runs) return std::nullopt;
  LeaseSpec claim = {.holder = identity_,
                     .duration_seconds = lease_duration_.count(),
                     .acquired = seen_.acquired,
                     .renewed = MicroTime(wall),
                     .transitions = seen_.transitions};
  if (!won_) {
    claim.acquired = claim.renewed;
    if (existed_) ++claim.transitions;
  }
  claim.transitions = std::max(claim.transitions, least_transitions_);
  return claim;
}

void Election::Won(const LeaseSpec& claim, TimePoint sent) {
  seen_ = claim;
  changed_ = sent;
  sent_ = sent;
  won_ = true;
}

std::optional<LeaseSpec> Election::Release(TimePoint now, WallTime wall) {
  if (!Term(now)) return std::nullopt;
  ended_ = true;
  LeaseSpec released = seen_;
  released.holder.clear();
  // At least 1, says the API server.
  released.duration_seconds = 1;
  released.renewed = MicroTime(wall);
  return released;
}

std::optional<int64_t> Election::Term(TimePoint now) const {
  if (!won_ || ended_ || now >= HeldUntil()) return std::nullopt;
  return seen_.transitions;
}

}  // namespace freezepipe::kube
