#include "operator/coordinator/attachment.h"

#include <algorithm>
#include <utility>

#include "operator/coordinator/checkpointing.h"
#include "operator/coordinator/describing.h"
#include "operator/coordinator/finishing.h"
#include "operator/coordinator/freezing.h"
#include "operator/coordinator/memory.h"
#include "operator/coordinator/recovery.h"
#include "operator/coordinator/release.h"
#include "operator/coordinator/repartition.h"
#include "operator/coordinator/restart.h"
#include "operator/coordinator/start_up.h"
#include "operator/coordinator/take_over.h"

namespace freezepipe::coordinator {
namespace {

void SendWelcome(SessionState& state, const v1alpha1::Hello& hello) {
  auto order = state.NewOrder();
  auto* welcome = order.mutable_welcome();
  if (hello.generation() == 0) *welcome->mutable_spec() = state.setup.spec;
  welcome->set_checkpoint_directory(state.setup.checkpoint_directory);
  state.Send(hello.worker(), std::move(order));
}

void SayStarted(SessionState& state, const v1alpha1::Hello& hello) {
  auto event = state.NewEvent();
  event.mutable_worker_started()->set_worker(hello.worker());
  event.mutable_worker_started()->set_device(hello.device());
  state.Say(std::move(event));
}

/// Sends again what the same process may not have got before its stream broke.
void RepeatOrders(SessionState& state, int worker) {
  RepeatCompletions(state, worker);
  if (state.workers.at(worker).dismissed) SendExit(state, worker);
  if (state.finder == worker) SendFindCheckpoint(state);
  if (state.current && state.phase != Phase::kTakingOver) RememberIfBehind(state, worker);
  const bool member = state.Needed().contains(worker);
  const bool leads = state.current && worker == LeadOf(*state.current);
  switch (state.phase) {
    case Phase::kProfiling:
      if (worker == ProfilingWorker(state)) SendProfile(state);
      break;
    case Phase::kPreparing:
    case Phase::kPreparingLive:
      if (state.next->members.contains(worker) && !state.next->prepared.contains(worker)) {
        SendPrepare(state, worker);
      }
      break;
    case Phase::kSwitching:
      if (leads && !state.next->switch_step) SendSwitch(state);
      RepeatFreeze(state, worker);
      break;
    case Phase::kRunning:
      if (!member) break;
      if (!state.began_with_start) {
        SendRetire(state, worker);
      } else if (state.step <= state.generation_step) {
        SendStart(state, worker);
      }
      RepeatFreeze(state, worker);
      if (leads) RepeatStop(state);
      break;
    case Phase::kGathering:
      if (state.workers.at(worker).owes_aborted) SendAbort(state, worker);
      break;
    default:
      break;
  }
}

}  // namespace

void OnAttached(SessionState& state, const v1alpha1::Hello& hello) {
  const int worker = hello.worker();
  const auto found = state.workers.find(worker);
  if (found == state.workers.end() || hello.term() > state.setup.term) return;
  Worker& known = found->second;
  // A process that was given up is not taken back: its replacement is on its way, or it was
  // released.
  if (!known.alive) return;

  const bool first_hello = known.hello.incarnation().empty();
  const bool same_process = !first_hello && known.hello.incarnation() == hello.incarnation() &&
                            (hello.generation() > 0 || known.generation == 0);
  const bool replaced = !first_hello && !same_process;
  if (replaced) {
    const auto released_at = known.released_at;
    known = Worker{.alive = true};
    known.released_at = released_at;
    HandCompletionsOn(state, worker);
    OnDescriberAway(state, worker);
  }
  known.attached = true;
  known.detached_since.reset();
  known.hello = hello;
  known.generation = std::max(known.generation, hello.generation());
  known.terminating = hello.terminating();
  SendWelcome(state, hello);

  if (state.phase == Phase::kExiting) {
    SendExit(state, worker);
    return;
  }
  if (known.released_at) {
    ReleaseWorker(state, worker);
    return;
  }
  if (!same_process) {
    // One that has been asked to prepare something was started under another coordinator.
    if (hello.generation() == 0) SayStarted(state, hello);
    SendDescriptionToRemember(state, worker);
  }
  if (state.phase == Phase::kConcluding) return;
  if (replaced) OnWorkerLost(state, worker, {.why = "its process was restarted"});
  if (same_process) RepeatOrders(state, worker);
  // The coordinator before this one had begun to prepare the first generation.
  if (first_hello && hello.generation() > 0 && state.phase == Phase::kAttaching) {
    state.last_generation = std::max(state.last_generation, hello.generation());
    SendAbort(state, worker);
  }
  ContinueTakeOver(state);
  ContinueStartUp(state);
  ContinueRecovery(state);
}

void OnStreamLost(SessionState& state, int worker) {
  const auto found = state.workers.find(worker);
  if (found == state.workers.end() || !found->second.attached) return;
  found->second.attached = false;
  found->second.detached_since = state.now;
  OnDescriberAway(state, worker);
  if (state.phase == Phase::kProfiling && worker == ProfilingWorker(state)) {
    state.phase = Phase::kAttaching;
  }
}

void OnWorkerGone(SessionState& state, int worker, const Loss& loss) {
  const auto found = state.workers.find(worker);
  if (found == state.workers.end() || !found->second.alive) return;
  Worker& known = found->second;
  const auto released_at = known.released_at;
  const bool release_noticed = known.release_noticed;
  const bool terminated = known.terminating;
  // A pod that waits for a place looks like a worker that hangs, to a coordinator that is new.
  const bool unseen = known.taken_over && known.hello.incarnation().empty();
  known = Worker{};
  known.released_at = released_at;
  known.release_noticed = release_noticed;
  HandCompletionsOn(state, worker);
  OnDescriberAway(state, worker);
  if (state.phase == Phase::kConcluding) return;
  if (state.phase == Phase::kExiting) {
    ContinueExiting(state);
  } else if (released_at) {
    OnReleased(state, worker);
  } else {
    OnWorkerLost(state, worker,
                 {.why = terminated ? "it was told to end" : loss.why,
                  .disrupted = loss.disrupted || terminated || unseen});
  }
}

}  // namespace freezepipe::coordinator
