#include "operator/coordinator/recovery.h"

#include <algorithm>
#include <utility>

#include "operator/coordinator/finishing.h"
#include "operator/coordinator/hand_over.h"
#include "operator/coordinator/restart.h"
#include "operator/coordinator/session_limits.h"
#include "operator/coordinator/start_up.h"
#include "operator/coordinator/take_over.h"

namespace freezepipe::coordinator {
namespace {

/// Counts it. False when the job has failed of it.
bool MayRestart(SessionState& state, const std::string& why, const Loss& loss) {
  if (loss.disrupted) return true;
  state.progress_mark = std::max(state.progress_mark, state.step);
  if (++state.restarts_without_progress <= kRestartLimit) return true;
  Conclude(state, v1alpha1::JobState::Failed,
           "RestartLimit: " + std::to_string(kRestartLimit) +
               " restarts without progress; the last because " + why);
  return false;
}

void SayLost(SessionState& state, int worker, const std::string& why) {
  auto event = state.NewEvent();
  event.mutable_worker_lost()->set_worker(worker);
  event.mutable_worker_lost()->set_why(why);
  state.Say(std::move(event));
}

/// Launches the worker again, unless a new process has taken its place already.
void Replace(SessionState& state, int worker) {
  if (!state.workers.at(worker).alive) state.Launch(worker);
}

bool MayAnswer(const SessionState& state, int generation) {
  const int oldest = state.current ? state.current->generation() : 1;
  return generation >= oldest && generation <= state.last_generation;
}

}  // namespace

void OnWorkerLost(SessionState& state, int worker, const Loss& loss) {
  SayLost(state, worker, loss.why);
  const bool awaited = state.Awaited().contains(worker);
  if (!state.Needed().contains(worker) && !awaited) {
    // It held no layer: what is left is to let it go.
    state.workers.at(worker).released_at = state.now;
    return;
  }
  if (loss.disrupted) {
    state.status.set_disruptions(state.status.disruptions() + 1);
  } else {
    state.status.set_restarts(state.status.restarts() + 1);
  }
  if (awaited && !(state.next && MembersOf(state.next->plan).contains(worker))) {
    // Training goes on without it.
    if (!state.stop_requested) Replace(state, worker);
    return;
  }
  const std::string reason = "worker " + std::to_string(worker) + " was lost: " + loss.why;
  if (state.stop_requested) {
    Conclude(state, v1alpha1::JobState::Stopped, "stopped at the newest checkpoint; " + reason);
    return;
  }
  const Phase phase = state.phase;
  if (state.outstanding && state.outstanding->sent_to == worker) state.lead_was_lost = true;
  if (state.finder == worker) state.finder.reset();
  if (phase == Phase::kTakingOver) {
    std::erase_if(state.unheard, [&](const auto& said) { return said.first == worker; });
    state.recovery_why = reason;
    if (!state.lost_in_recovery.insert(worker).second && !MayRestart(state, reason, loss)) return;
    state.SetState(v1alpha1::JobState::Recovering, reason);
    Replace(state, worker);
  } else if (phase == Phase::kAttaching || phase == Phase::kProfiling) {
    if (!MayRestart(state, reason, loss)) return;
    state.status.set_message(reason);
    state.phase = Phase::kAttaching;
    Replace(state, worker);
  } else if (phase == Phase::kGathering) {
    // The first loss of this process is what began the recovery or came with it; a second is a
    // crash loop.
    if (!state.lost_in_recovery.insert(worker).second && !MayRestart(state, reason, loss)) return;
    Replace(state, worker);
    ContinueRecovery(state);
  } else {
    BeginRecovery(state, reason, loss.disrupted);
    if (state.phase != Phase::kGathering) return;
    state.lost_in_recovery.insert(worker);
    Replace(state, worker);
  }
}

void BeginRecovery(SessionState& state, const std::string& why, bool disrupted) {
  if (state.stop_requested) {
    Conclude(state, v1alpha1::JobState::Stopped, "stopped at the newest checkpoint; " + why);
    return;
  }
  if (!MayRestart(state, why, {.why = why, .disrupted = disrupted})) return;
  state.phase = Phase::kGathering;
  state.gathering_since = state.now;
  state.recovery_why = why;
  state.lost_in_recovery.clear();
  state.SetState(v1alpha1::JobState::Recovering, why);
  std::set<int> told = state.Needed();
  if (state.next) told.insert(state.next->members.begin(), state.next->members.end());
  for (const int worker : told) {
    Worker& known = state.workers.at(worker);
    known.holdings.clear();
    known.owes_aborted = known.alive && known.generation > 0;
    if (known.owes_aborted) SendAbort(state, worker);
  }
}

void SendAbort(SessionState& state, int worker) {
  auto order = state.NewOrder();
  order.mutable_abort()->set_generation(state.last_generation);
  state.Send(worker, std::move(order));
}

void OnAborted(SessionState& state, int worker, const v1alpha1::Aborted& said) {
  Worker& known = state.workers.at(worker);
  switch (state.phase) {
    case Phase::kPreparing:
    case Phase::kRecording:
      // Of an older generation: a late answer to what was settled before this restart.
      if (said.generation() != state.next->plan.generation()) return;
      break;
    case Phase::kRunning:
    case Phase::kPreparingLive:
    case Phase::kSwitching:
    case Phase::kSettling: {
      const bool of_current = said.generation() == state.current->generation();
      const bool of_next = state.next && said.generation() == state.next->plan.generation();
      if (!of_current && !of_next) return;
      break;
    }
    case Phase::kGathering:
      if (!MayAnswer(state, said.generation())) return;
      known.owes_aborted = false;
      known.holdings = MakeHoldings(said.holdings());
      ContinueRecovery(state);
      return;
    default:
      return;
  }
  if (!state.Needed().contains(worker)) return;
  BeginRecovery(state, "worker " + std::to_string(worker) + " stopped: " + said.reason());
  if (state.phase != Phase::kGathering) return;
  known.owes_aborted = false;
  known.holdings = MakeHoldings(said.holdings());
  ContinueRecovery(state);
}

void ContinueRecovery(SessionState& state) {
  if (state.phase != Phase::kGathering || !state.completions.empty()) return;
  for (const int worker : state.Needed()) {
    const Worker& known = state.workers.at(worker);
    if (!known.attached || known.owes_aborted) return;
  }
  if (AwaitCheckpoint(state)) return;
  if (!state.profile) {
    state.phase = Phase::kAttaching;
    ContinueStartUp(state);
    return;
  }
  PrepareRestart(state, PlanForRestart(state), state.recovery_why);
}

void EnforceProgress(SessionState& state) {
  if (!state.Trains() || !state.AllAttached(state.Needed())) return;
  // A batch of an evaluation takes no longer than one of training.
  const double test_samples =
      state.profile ? static_cast<double>(state.profile->test_samples()) : 0;
  const double batches = kStallSteps + test_samples / state.setup.spec.training().batch_size();
  const Seconds limit = std::max(kStallLimit, batches * state.current->predicted_step_seconds());
  if (state.now - state.heard_at < limit) return;
  BeginRecovery(state,
                "training said nothing for " + std::to_string(static_cast<int>(limit)) + " s");
}

void EnforcePresence(SessionState& state) {
  for (auto& [worker, known] : state.workers) {
    if (!known.alive || known.released_at) continue;
    const bool away = known.detached_since && state.now - *known.detached_since >= kReattachLimit;
    const bool silent = state.phase == Phase::kGathering && known.owes_aborted &&
                        state.now - state.gathering_since >= kAbortLimit;
    const bool slow = state.phase == Phase::kPreparing && !state.next->prepared.contains(worker) &&
                      state.next->members.contains(worker) &&
                      state.now - state.next->since >= kRestartPrepareLimit;
    const bool stuck = state.phase == Phase::kProfiling && worker == ProfilingWorker(state) &&
                       state.now - state.profiling_since >= kProfileLimit;
    const bool mute =
        state.describing_worker == worker && state.now - state.describing_since >= kProfileLimit;
    const Seconds patience = state.stop_requested ? kReattachLimit : kTakeOverLimit;
    const bool missing = known.taken_over && known.hello.incarnation().empty() &&
                         state.now - state.started_at >= patience;
    const bool finding =
        state.finder == worker && state.now - state.finding_since >= kCompletionLimit;
    if (away || silent || slow || stuck || mute || missing || finding) state.Kill(worker);
  }
}

}  // namespace freezepipe::coordinator
