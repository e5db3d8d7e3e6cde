#include "operator/coordinator/freezing.h"

#include <algorithm>
#include <utility>

#include "operator/coordinator/running.h"
#include "operator/coordinator/session_limits.h"

namespace freezepipe::coordinator {
namespace {

void SayChosen(SessionState& state, const v1alpha1::FreezeLogEntry& entry) {
  if (!state.chosen_noticed.insert(entry.boundary()).second) return;
  auto event = state.NewEvent();
  *event.mutable_freeze_chosen()->mutable_entry() = entry;
  state.Say(std::move(event));
}

void SayFrozen(SessionState& state, const v1alpha1::FreezeLogEntry& entry) {
  if (!state.frozen_noticed.insert(entry.boundary()).second) return;
  auto event = state.NewEvent();
  *event.mutable_layers_frozen()->mutable_entry() = entry;
  state.Say(std::move(event));
  state.consider_repartition = true;
}

void SendFreeze(SessionState& state, int worker) {
  auto order = state.NewOrder();
  *order.mutable_schedule_freeze()->mutable_entry() = state.outstanding->entry;
  state.Send(worker, std::move(order));
}

}  // namespace

void DecideFreeze(SessionState& state) {
  if (!state.Trains() || state.stop_requested || state.outstanding) return;

  const int chosen_at = state.windows.back().step + kDecisionLag;
  // Windows that come again after a restart were decided on before: the log says how.
  if (!state.freeze_log.empty() && chosen_at <= state.freeze_log.back().chosen_at()) return;
  // Nor is anything chosen that could freeze no step of the run any more.
  const int total_steps = state.setup.shape.total_steps;
  const int cool_down = planner::CoolDownSteps(state.setup.spec.freeze(), total_steps);
  if (std::max(chosen_at, state.step) + cool_down >= total_steps) return;
  const auto choice = state.policy->Decide(state.windows, state.freeze_log);
  if (!choice) return;
  const int frozen_at = chosen_at + cool_down;

  v1alpha1::FreezeLogEntry entry;
  entry.set_chosen_at(chosen_at);
  entry.set_frozen_at(frozen_at);
  entry.set_boundary(choice->boundary);
  entry.set_why(choice->why);
  state.freeze_log.push_back(entry);
  state.outstanding = OutstandingFreeze{.entry = entry};
  state.WriteRecord(PendingRecord::Purpose::kFreeze, entry.boundary());
}

void OnFreezeRecorded(SessionState& state) {
  if (!state.outstanding) return;
  state.outstanding->recorded = true;
  RouteFreeze(state);
}

void RouteFreeze(SessionState& state) {
  if (!state.outstanding || !state.outstanding->recorded) return;
  int lead = 0;
  switch (state.phase) {
    case Phase::kRunning:
    case Phase::kPreparingLive:
      lead = LeadOf(*state.current);
      break;
    case Phase::kSwitching: {
      // The old lead may have written its last header, so a new lead is told once the old one has
      // said all.
      const int old_lead = LeadOf(*state.current);
      lead = LeadOf(state.next->plan);
      if (lead != old_lead && !state.next->switched.contains(old_lead)) return;
      break;
    }
    case Phase::kSettling:
      lead = LeadOf(state.next->plan);
      break;
    default:
      return;
  }
  if (state.outstanding->sent_to == lead) return;
  state.outstanding->sent_to = lead;
  SendFreeze(state, lead);
}

void RepeatFreeze(SessionState& state, int worker) {
  if (state.outstanding && state.outstanding->sent_to == worker) SendFreeze(state, worker);
}

void ConfirmFreeze(SessionState& state, const v1alpha1::FreezeLogEntry& entry) {
  if (!state.outstanding || state.outstanding->entry.boundary() != entry.boundary()) return;
  auto& logged = state.freeze_log.back();
  const bool moved =
      logged.chosen_at() != entry.chosen_at() || logged.frozen_at() != entry.frozen_at();
  logged.set_chosen_at(entry.chosen_at());
  logged.set_frozen_at(entry.frozen_at());
  state.outstanding.reset();
  if (moved) state.WriteRecord(PendingRecord::Purpose::kNote, 0);
  SayChosen(state, logged);
  SayFreezes(state);
}

void OnFreezeTooLate(SessionState& state, const v1alpha1::FreezeTooLate& said) {
  if (!state.outstanding || state.outstanding->entry.boundary() != said.entry().boundary()) return;
  if (state.phase != Phase::kGathering) AdvanceTo(state, said.step());
  MissOutstandingFreeze(state);
  state.WriteRecord(PendingRecord::Purpose::kNote, 0);
}

void MissOutstandingFreeze(SessionState& state) {
  if (!state.outstanding) return;
  auto event = state.NewEvent();
  *event.mutable_freeze_missed()->mutable_entry() = state.outstanding->entry;
  state.freeze_log.pop_back();
  state.outstanding.reset();
  state.Say(std::move(event));
}

void SayFreezes(SessionState& state) {
  for (const auto& entry : state.ConfirmedFreezes()) {
    if (state.step >= entry.chosen_at()) SayChosen(state, entry);
    // A step must be left to be frozen in.
    const bool frozen =
        state.step >= entry.frozen_at() && entry.frozen_at() < state.setup.shape.total_steps;
    if (frozen) SayFrozen(state, entry);
  }
}

}  // namespace freezepipe::coordinator
