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

std::string Named(const std::set<int>& workers) {
  std::string names = workers.size() == 1 ? "worker" : "workers";
  for (const int worker : workers) {
    names += (worker == *workers.begin() ? " " : ", ") + std::to_string(worker);
  }
  return names;
}

/// A plan of as many stages as these workers are enough for; not given: they have no room.
std::optional<planner::PlannedStages> PlanOver(const SessionState& state,
                                               const std::set<int>& usable) {
  const int replicas = state.setup.spec.pipeline().replicas();
  const int stages = std::min(static_cast<int>(usable.size()) / replicas,
                              planner::InitialStages(state.setup.spec, state.layers()));
  if (stages == 0) return std::nullopt;
  return planner::MakeInitialPlan(CostsAt(state, state.current->boundary()), replicas,
                                  HeldWorkers(state, usable), stages);
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
  const bool more =
      planned && static_cast<int>(planned->partition.size()) > state.current->stages_size();
  return more ? planned : std::nullopt;
}

void HandOver(SessionState& state, const std::set<int>& leaving, const std::set<int>& staying) {
  if (state.stopping_for_hand_over) return;
  if (const auto planned = PlanOver(state, staying)) {
    BeginRepartition(state, PlanThatAwaits(state, *planned),
                     Named(leaving) + (leaving.size() == 1 ? " leaves" : " leave"));
  } else if (!state.setup.checkpoint_directory.empty()) {
    state.stopping_for_hand_over = true;
    SendStop(state);
  } else {
    for (const int worker : leaving) Dismiss(state, worker);
  }
}

/// A restart for each worker that is back would be one too many: all are waited for, for a while.
/// So is one for those that a restart failed for just now.
bool TakeBack(SessionState& state) {
  const bool at_once = Back(state) == state.Awaited() && !state.began_with_start;
  if (!at_once && state.now - state.pace_since < kTakeBackDelay) return false;
  if (!PlanWithThoseBack(state)) return false;
  BeginRecovery(state, Named(Back(state)) + (Back(state).size() == 1 ? " is back" : " are back"),
                /*disrupted=*/true);
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
  std::set<int> staying = state.Members();
  std::set<int> leaving;
  for (const auto& [worker, known] : state.workers) {
    if (!known.terminating || known.released_at) continue;
    if (staying.erase(worker) > 0) {
      leaving.insert(worker);
    } else {
      Dismiss(state, worker);
    }
  }
  if (leaving.empty()) return TakeBack(state);
  HandOver(state, leaving, staying);
  return true;
}

void Dismiss(SessionState& state, int worker) {
  Worker& known = state.workers.at(worker);
  if (!known.attached || known.dismissed) return;
  known.dismissed = true;
  SendExit(state, worker);
}

bool MemberTerminates(const SessionState& state) {
  const auto members = state.Members();
  return std::any_of(members.begin(), members.end(),
                     [&](int worker) { return state.workers.at(worker).terminating; });
}

v1alpha1::Plan PlanForRestart(SessionState& state) {
  if (!state.current) return Renumbered(state, state.next->plan);
  const auto planned = PlanWithThoseBack(state);
  return planned ? PlanThatAwaits(state, *planned) : Renumbered(state, *state.current);
}

}  // namespace freezepipe::coordinator
