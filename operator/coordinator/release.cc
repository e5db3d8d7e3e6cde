#include "operator/coordinator/release.h"

#include <utility>

#include "operator/coordinator/session_limits.h"

namespace freezepipe::coordinator {
namespace {

/// Of the last checkpoint before the plan in force, layers may still be on their way to the disk.
bool CheckpointIsUnderWay(const SessionState& state) {
  const int interval = state.setup.spec.checkpoint().interval_steps();
  if (interval <= 0 || state.setup.checkpoint_directory.empty()) return false;
  return !state.checkpoints.IsWritten(state.generation_step / interval * interval);
}

}  // namespace

void ReleaseWorker(SessionState& state, int worker) {
  Worker& known = state.workers.at(worker);
  if (!known.released_at) known.released_at = state.now;
  if (!known.alive) {
    OnReleased(state, worker);
    return;
  }
  auto order = state.NewOrder();
  order.mutable_release();
  state.Send(worker, std::move(order));
}

void OnReleased(SessionState& state, int worker) {
  Worker& known = state.workers.at(worker);
  if (!known.released_at || known.release_noticed) return;
  known.release_noticed = true;
  auto event = state.NewEvent();
  event.mutable_worker_released()->set_worker(worker);
  state.Say(std::move(event));
}

void EnforceRelease(SessionState& state) {
  for (const auto& [worker, known] : state.workers) {
    if (!known.released_at) continue;
    const bool writes = known.attached && CheckpointIsUnderWay(state);
    const Seconds limit = writes ? kCompletionLimit : kReleaseLimit;
    if (state.now - *known.released_at >= limit) state.Kill(worker);
  }
}

}  // namespace freezepipe::coordinator
