#include "operator/coordinator/hand_over.h"

#include <algorithm>
#include <optional>
#include <string>

#include "operator/coordinator/finishing.h"
#include "operator/coordinator/plan_builder.h"
#include "operator/coordinator/recovery.h"
#include "operator/coordinator/repartition.h"
#include "operator/coordinator/session_limits.h"

namespace freezepipe::coordinator {
namespace {

/// Members of the plan in force that are to end.
std::set<int> Leaving(const SessionState& state) {
  std::set<int> leaving = state.Members();
  std::erase_if(leaving, [&](int worker) { return !state.workers.at(worker).terminating; });
  return leaving;
}

std::set<int> Staying(const SessionState& state) {
  std::set<int> staying = state.Members();
  std::erase_if(staying, [&](int worker) { return state.workers.at(worker).terminating; });
  return staying;
}

std::string Named(const std::set<int>& workers) {
  std::string names = workers.size() == 1 ? "worker" : "workers";
  for (const int worker : workers) {
    names += (worker == *workers.begin() ? " " : ", ") + std::to_string(worker);
  }
  return names;
}

/// The plan that these workers would have before anything is released; not given: they have no
/// room for the layers.
std::optional<planner::PlannedStages> PlanOver(const SessionState& state,
                                               const std::set<int>& usable) {
  const auto& spec = state.setup.spec;
  const auto model = CostsAt(state, state.current->boundary());
  const bool replicate = spec.release().when_released() == v1alpha1::WhenReleased::Replicate;
  auto shape =
      planner::FullShape(model, spec.pipeline(), replicate, static_cast<int>(usable.size()));
  if (!shape) return std::nullopt;
  return planner::PlanOf(model, std::move(*shape), HeldWorkers(state, usable));
}

v1alpha1::Plan PlanThatAwaits(SessionState& state, const planner::PlannedStages& planned) {
  v1alpha1::Plan plan = NewPlan(state, planned, state.current->boundary());
  Await(state.Members(), plan);
  return plan;
}

/// Awaited workers that are there and stay.
std::set<int> Back(const SessionState& state) {
  std::set<int> back;
  for (const int worker : state.Awaited()) {
    const Worker& known = state.workers.at(worker);
    if (known.attached && !known.terminating && !known.killed) back.insert(worker);
  }
  return back;
}

std::optional<planner::PlannedStages> PlanWithThoseBack(const SessionState& state) {
  // If a restart failed, it may have been for one of those.
  if (state.restarts_without_progress > 0) return std::nullopt;
  std::set<int> usable = Back(state);
  if (usable.empty()) return std::nullopt;
  usable.merge(state.Members());
  auto planned = PlanOver(state, usable);
  const bool more = planned && planned->shape.devices() > static_cast<int>(state.Members().size());
  return more ? planned : std::nullopt;
}

void StopForHandOver(SessionState& state) {
  state.stopping_for_hand_over = true;
  SendStop(state);
}

void HandOver(SessionState& state, const std::set<int>& leaving) {
  if (state.stopping_for_hand_over) return;
  if (const auto planned = PlanOver(state, Staying(state))) {
    BeginRepartition(state, PlanThatAwaits(state, *planned),
                     Named(leaving) + (leaving.size() == 1 ? " leaves" : " leave"));
  } else if (!state.setup.checkpoint_directory.empty()) {
    StopForHandOver(state);
  } else {
    for (const int worker : leaving) Dismiss(state, worker);
  }
}

/// A restart for each worker that is back would be one too many: all are waited for, for a while.
/// So is one for those that a restart failed for just now.
bool TakeBack(SessionState& state) {
  if (state.stopping_for_hand_over) return true;
  const bool at_once = Back(state) == state.Awaited() && !state.began_with_start;
  if (!at_once && state.now - state.pace_since < kTakeBackDelay) return false;
  if (!PlanWithThoseBack(state)) return false;
  // In the middle of a step some may have done it and others not: no step that all have.
  StopForHandOver(state);
  return true;
}

}  // namespace

void OnTerminating(SessionState& state, int worker) {
  Worker& known = state.workers.at(worker);
  if (known.killed) return;
  known.terminating = true;
  if (state.phase == Phase::kPreparingLive && MembersOf(state.next->plan).contains(worker)) {
    DropRepartition(state, Named({worker}) + " leaves");
  }
}

bool ContinueHandOver(SessionState& state) {
  const std::set<int> members = state.Members();
  for (const auto& [worker, known] : state.workers) {
    if (known.terminating && !known.released_at && !members.contains(worker)) {
      Dismiss(state, worker);
    }
  }
  const std::set<int> leaving = Leaving(state);
  if (leaving.empty()) return TakeBack(state);
  HandOver(state, leaving);
  return true;
}

void Dismiss(SessionState& state, int worker) {
  Worker& known = state.workers.at(worker);
  if (!known.attached || known.dismissed) return;
  known.dismissed = true;
  SendExit(state, worker);
}

void OnStoppedForHandOver(SessionState& state) {
  const std::set<int> leaving = Leaving(state);
  if (!leaving.empty() && !PlanOver(state, Staying(state))) {
    for (const int worker : leaving) Dismiss(state, worker);
    return;
  }
  const std::set<int> back = Back(state);
  BeginRecovery(state,
                back.empty() ? "who was back is away again"
                             : Named(back) + (back.size() == 1 ? " is back" : " are back"),
                /*disrupted=*/true);
}

bool MayStopForHandOver(const SessionState& state) {
  return !Leaving(state).empty() || !state.Awaited().empty();
}

v1alpha1::Plan PlanForRestart(SessionState& state) {
  if (!state.current) return Renumbered(state, state.next->plan);
  const auto planned = PlanWithThoseBack(state);
  return planned ? PlanThatAwaits(state, *planned) : Renumbered(state, *state.current);
}

}  // namespace freezepipe::coordinator
