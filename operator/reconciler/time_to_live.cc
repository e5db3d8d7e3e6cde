#include "operator/reconciler/time_to_live.h"

#include <chrono>

namespace freezepipe::reconciler {

std::optional<kube::Duration> TimeToLive(const Snapshot& snapshot) {
  using std::chrono::seconds;
  const auto& policy = snapshot.spec.run_policy();
  if (!policy.has_ttl_seconds_after_finished() || !snapshot.status.has_completion_time()) {
    return std::nullopt;
  }
  const auto end = kube::WallTime(seconds(snapshot.status.completion_time().seconds()));
  return end + seconds(policy.ttl_seconds_after_finished()) - snapshot.now;
}

}  // namespace freezepipe::reconciler
