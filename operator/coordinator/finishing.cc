#include "operator/coordinator/finishing.h"

#include <algorithm>
#include <utility>

#include "operator/coordinator/freezing.h"
#include "operator/coordinator/hand_over.h"
#include "operator/coordinator/repartition.h"
#include "operator/coordinator/running.h"
#include "operator/coordinator/session_limits.h"

namespace freezepipe::coordinator {
namespace {

bool IsEnding(const SessionState& state) {
  return state.phase == Phase::kConcluding || state.phase == Phase::kExiting;
}

bool SomeMemberIsNew(const SessionState& state) {
  const auto members = state.Members();
  return std::any_of(members.begin(), members.end(), [&](int member) {
    const Worker& worker = state.workers.at(member);
    return !worker.taken_over && worker.hello.incarnation().empty();
  });
}

void EndAtOnce(SessionState& state) {
  for (const auto& [worker, unused] : state.workers) state.Kill(worker);
  state.phase = Phase::kOver;
  state.actions.push_back(JobOver{});
}

}  // namespace

void Conclude(SessionState& state, v1alpha1::JobState::Type end, const std::string& message) {
  if (IsEnding(state)) return;
  state.phase = Phase::kConcluding;
  // The lead would have said so, had it announced it before its last step.
  MissOutstandingFreeze(state);
  state.status.clear_seconds_left();
  state.SetState(end, message);
  state.WriteRecord(PendingRecord::Purpose::kEnd, 0);
}

void OnEndRecorded(SessionState& state) {
  if (state.phase != Phase::kConcluding) return;
  state.phase = Phase::kExiting;
  state.exiting_since = state.now;
  for (const auto& [worker, unused] : state.workers) SendExit(state, worker);
  ContinueExiting(state);
}

void ContinueExiting(SessionState& state) {
  if (state.phase != Phase::kExiting) return;
  const bool all_gone =
      std::none_of(state.workers.begin(), state.workers.end(), [](const auto& item) {
        const Worker& worker = item.second;
        // One that was released before this coordinator came may
        // be gone long since.
        return worker.alive && !(worker.released_at && worker.killed);
      });
  if (all_gone || state.now - state.exiting_since >= kExitLimit) EndAtOnce(state);
}

void SendExit(SessionState& state, int worker) {
  auto order = state.NewOrder();
  order.mutable_exit();
  state.Send(worker, std::move(order));
}

void OnStopRequested(SessionState& state) {
  if (IsEnding(state)) {
    EndAtOnce(state);
    return;
  }
  if (std::exchange(state.stop_requested, true)) {
    Conclude(state, v1alpha1::JobState::Stopped, "stopped at once, without a checkpoint");
    EndAtOnce(state);
    return;
  }
  switch (state.phase) {
    case Phase::kRunning:
      StopTraining(state);
      break;
    case Phase::kPreparingLive:
      DropRepartition(state, "the job stops");
      StopTraining(state);
      break;
    case Phase::kTakingOver:
      // Once it is known how training stands. A worker launched anew has nothing to tell of that,
      // and may wait for a place for ever.
      if (SomeMemberIsNew(state)) {
        Conclude(state, v1alpha1::JobState::Stopped, "stopped at the newest checkpoint");
      }
      break;
    case Phase::kSwitching:
    case Phase::kSettling:
      // The switch is in a header already: it is carried through first.
      break;
    default:
      Conclude(state, v1alpha1::JobState::Stopped, "stopped while training stood still");
  }
}

void StopTraining(SessionState& state) {
  if (state.phase != Phase::kRunning) return;
  state.SetState(v1alpha1::JobState::Stopping, "");
  SendStop(state);
}

void SendStop(SessionState& state) {
  auto order = state.NewOrder();
  order.mutable_stop();
  state.Send(LeadOf(*state.current), std::move(order));
}

void RepeatStop(SessionState& state) {
  if (state.phase != Phase::kRunning) return;
  if (state.stop_requested || state.stopping_for_hand_over) SendStop(state);
}

void OnFinished(SessionState& state, int worker, const v1alpha1::Finished& said) {
  if (!state.Trains()) return;
  state.finished[worker] = said.step();
  ConcludeIfFinished(state);
}

void ContinueFinishing(SessionState& state) {
  if (state.Trains()) ConcludeIfFinished(state);
}

bool ConcludeIfFinished(SessionState& state) {
  if (state.phase == Phase::kSettling || !state.completions.empty()) return false;
  int step = 0;
  for (const int member : state.Members()) {
    const auto finished = state.finished.find(member);
    if (finished == state.finished.end()) return false;
    step = std::max(step, finished->second);
  }
  AdvanceTo(state, step);
  if (step >= state.setup.shape.total_steps) {
    Conclude(state, v1alpha1::JobState::Succeeded, "");
  } else if (state.stop_requested) {
    Conclude(state, v1alpha1::JobState::Stopped, "as requested");
  } else if (state.stopping_for_hand_over) {
    OnStoppedForHandOver(state);
  } else {
    Conclude(state, v1alpha1::JobState::Failed,
             "Internal: training ended at step " + std::to_string(step) + " unasked");
  }
  return true;
}

void OnRecordFailed(SessionState& state, const std::string& why) {
  const std::string message = "RecordError: " + why;
  if (state.phase != Phase::kConcluding) {
    Conclude(state, v1alpha1::JobState::Failed, message);
    return;
  }
  state.SetState(v1alpha1::JobState::Failed,
                 state.status.message().empty() ? message : state.status.message());
  OnEndRecorded(state);
}

}  // namespace freezepipe::coordinator
