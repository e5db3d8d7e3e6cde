#include "operator/coordinator/said.h"

#include "operator/coordinator/checkpointing.h"
#include "operator/coordinator/describing.h"
#include "operator/coordinator/finishing.h"
#include "operator/coordinator/freezing.h"
#include "operator/coordinator/hand_over.h"
#include "operator/coordinator/recovery.h"
#include "operator/coordinator/release.h"
#include "operator/coordinator/repartition.h"
#include "operator/coordinator/restart.h"
#include "operator/coordinator/running.h"
#include "operator/coordinator/start_up.h"
#include "operator/coordinator/take_over.h"

namespace freezepipe::coordinator {
namespace {

void OnPrepared(SessionState& state, int worker, const v1alpha1::Prepared& said) {
  if (!state.next || said.generation() != state.next->plan.generation()) return;
  if (!state.next->members.contains(worker)) return;
  if (state.phase != Phase::kPreparing && state.phase != Phase::kPreparingLive) return;
  state.next->prepared.insert(worker);
  ContinueRestart(state);
  ContinuePreparingLive(state);
}

void OnPrepareFailed(SessionState& state, int worker, const v1alpha1::PrepareFailed& said) {
  if (!state.next || said.generation() != state.next->plan.generation()) return;
  const std::string why =
      "worker " + std::to_string(worker) + " could not prepare: " + said.reason();
  if (state.phase == Phase::kPreparingLive) DropRepartition(state, why);
  if (state.phase != Phase::kPreparing) return;
  if (said.has_damaged_checkpoint()) {
    state.checkpoints.Drop(said.damaged_checkpoint());
    if (const auto newest = state.checkpoints.newest()) {
      state.status.set_checkpoint_step(*newest);
    } else {
      state.status.clear_checkpoint_step();
    }
  }
  BeginRecovery(state, why);
}

/// Nobody says it whose peers hang.
bool IsOfTraining(const v1alpha1::WorkerMessage& message) {
  return message.has_step() || message.has_window() || message.has_evaluation() ||
         message.has_switched() || message.has_settled() || message.has_checkpoint_written() ||
         message.has_finished();
}

}  // namespace

void Hear(SessionState& state, int worker, const v1alpha1::WorkerMessage& message) {
  if (IsOfTraining(message)) state.heard_at = state.now;
  const bool waits =
      state.phase == Phase::kTakingOver && !message.has_failure() && !message.has_described();
  if (waits) {
    state.unheard.emplace_back(worker, message);
  } else {
    OnSaid(state, worker, message);
  }
}

void OnSaid(SessionState& state, int worker, const v1alpha1::WorkerMessage& message) {
  using Kind = v1alpha1::WorkerMessage::KindCase;
  switch (message.kind_case()) {
    case Kind::kProfile:
      return OnProfile(state, worker, message.profile());
    case Kind::kPrepared:
      return OnPrepared(state, worker, message.prepared());
    case Kind::kPrepareFailed:
      return OnPrepareFailed(state, worker, message.prepare_failed());
    case Kind::kSwitchScheduled:
      return OnSwitchScheduled(state, worker, message.switch_scheduled());
    case Kind::kSwitched:
      return OnSwitched(state, worker, message.switched());
    case Kind::kSettled:
      return OnSettled(state, worker, message.settled());
    case Kind::kFreezeScheduled:
      return ConfirmFreeze(state, message.freeze_scheduled().entry());
    case Kind::kFreezeTooLate:
      return OnFreezeTooLate(state, message.freeze_too_late());
    case Kind::kStep:
      return OnStepReport(state, message.step());
    case Kind::kWindow:
      return OnWindowReport(state, message.window());
    case Kind::kCacheTooSlow:
      return OnCacheTooSlow(state, worker, message.cache_too_slow());
    case Kind::kEvaluation:
      return OnEvaluation(state, message.evaluation());
    case Kind::kCheckpointWritten:
      return OnCheckpointWritten(state, message.checkpoint_written());
    case Kind::kAborted:
      return OnAborted(state, worker, message.aborted());
    case Kind::kFinished:
      return OnFinished(state, worker, message.finished());
    case Kind::kReleased:
      return OnReleased(state, worker);
    case Kind::kFailure:
      return Conclude(state, v1alpha1::JobState::Failed,
                      message.failure().reason() + ": " + message.failure().message());
    case Kind::kDescribed:
      OnDescribed(state, worker, message.described());
      ContinueTakeOver(state);
      return ContinueStartUp(state);
    case Kind::kTerminating:
      return OnTerminating(state, worker);
    case Kind::kCheckpointCompleted:
      return OnCheckpointCompleted(state, message.checkpoint_completed());
    case Kind::kCheckpointFound:
      return OnCheckpointFound(state, worker, message.checkpoint_found());
    case Kind::kHello:
    case Kind::KIND_NOT_SET:
      return;
  }
}

}  // namespace freezepipe::coordinator
