#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "operator/kube/backoff.h"
#include "operator/kube/client.h"
#include "operator/kube/election.h"

namespace freezepipe::kube {

struct LeaderElectorOptions {
  ObjectKey lease;
  /// Differs between any two processes (UniqueIdentity).
  std::string identity;
  /// Others wait so long after the last renewal they saw. Longer than the deadline.
  std::chrono::seconds lease_duration{15};
  /// Without a renewal for so long, the lease counts as lost.
  Duration renew_deadline = std::chrono::seconds(10);
  /// Between two tries; those who don't lead add up to 1.2 times as much at random.
  Duration retry_period = std::chrono::seconds(2);
};

/// "HOSTNAME_" and a random number.
std::string UniqueIdentity();

/// Holds a Lease, or waits for it. The term is the lease's leaseTransitions: it grows with every
/// change of leader. Thread-safe.
class LeaderElector {
 public:
  using ElectedHandler = std::function<void(int64_t term)>;
  using LostHandler = std::function<void(const std::string& why)>;
  using ErrorHandler = std::function<void(const absl::Status& error)>;

  /// Starts at once. The handlers are called on its thread and return soon: `on_elected` once,
  /// `on_lost` at most once after that, when the process had better end. `on_error` hears of tries
  /// that failed.
  LeaderElector(std::shared_ptr<Transport> transport, LeaderElectorOptions options,
                ElectedHandler on_elected, LostHandler on_lost, ErrorHandler on_error,
                Random random = SystemRandom());

  /// The term, while this process leads by its own clock: right also after it was paused.
  std::optional<int64_t> Term() const;

  /// The lease's next renewal makes the term at least this: a lease that was made anew counts from
  /// 0, and terms never go back.
  void RaiseTerm(int64_t term);

  /// Ends the election. A lease that is ours is given up, so that another process takes over at
  /// once: to be called when all work that only a leader may do has ended.
  absl::Status Release();

 private:
  void Run(const std::stop_token& stop);
  absl::Status Try(const std::stop_token& stop);
  /// False when the thread's work is over.
  bool Announce(const absl::Status& last_try);
  absl::Status Write(Client& client, const Json* lease, const LeaseSpec& spec);
  ClientOptions CallOptions(const std::stop_token& stop) const;
  Duration Pause() const;

  const std::shared_ptr<Transport> transport_;
  const LeaderElectorOptions options_;
  const ElectedHandler on_elected_;
  const LostHandler on_lost_;
  const ErrorHandler on_error_;
  const Random random_;
  /// On the thread alone.
  bool announced_ = false;
  /// Guards election_.
  mutable std::mutex mutex_;
  Election election_;
  /// Last: it uses all of the above.
  std::jthread thread_;
};

}  // namespace freezepipe::kube
