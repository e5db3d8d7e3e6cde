#include "operator/coordinator/release.h"

#include <utility>

#include "operator/coordinator/session_limits.h"

namespace freezepipe::coordinator {

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
    if (known.released_at && state.now - *known.released_at >= kReleaseLimit) {
      state.Kill(worker);
    }
  }
}

}  // namespace freezepipe::coordinator
