#include "operator/coordinator/repartition.h"

#include <algorithm>
#include <utility>

#include "operator/coordinator/finishing.h"
#include "operator/coordinator/freezing.h"
#include "operator/coordinator/plan_builder.h"
#include "operator/coordinator/release.h"
#include "operator/coordinator/restart.h"
#include "operator/coordinator/running.h"

namespace freezepipe::coordinator {
namespace {

/// Every layer comes from its owner in the plan in force; new owners without it fetch it.
std::vector<v1alpha1::LayerSource> LiveSources(const SessionState& state,
                                               const v1alpha1::Plan& plan) {
  std::vector<v1alpha1::LayerSource> sources;
  for (int layer = 0; layer < state.layers(); ++layer) {
    const auto held_by = OwnersOf(*state.current, layer);
    v1alpha1::LayerSource source;
    source.set_layer(layer);
    source.set_worker(held_by.front());
    auto owners = OwnersOf(plan, layer);
    std::sort(owners.begin(), owners.end());
    for (const int owner : owners) {
      if (std::find(held_by.begin(), held_by.end(), owner) == held_by.end()) {
        source.add_receivers(owner);
      }
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

void SettleIfAllDid(SessionState& state) {
  Preparation& next = *state.next;
  if (state.phase != Phase::kSwitching || !next.switch_step || next.switched != next.members ||
      next.settled != MembersOf(next.plan)) {
    return;
  }
  state.phase = Phase::kSettling;
  DescribePlan(state, next.plan, *next.switch_step);
  state.WriteRecord(PendingRecord::Purpose::kSettled, next.plan.generation());
}

void SayRepartitionDone(SessionState& state, const Preparation& done,
                        const v1alpha1::Plan& before) {
  auto event = state.NewEvent();
  auto* said = event.mutable_repartition_done();
  said->set_generation(done.plan.generation());
  said->set_step(*done.switch_step);
  for (const int count : LayerCounts(before)) said->add_from(count);
  for (const int count : LayerCounts(done.plan)) said->add_to(count);
  said->set_stall_seconds(done.stall_seconds);
  said->set_bytes_moved(done.bytes_moved);
  said->set_bytes_moved_early(done.bytes_moved_early);
  said->set_why(done.why);
  state.Say(std::move(event));
}

bool IsSwitchingTo(const SessionState& state, int generation) {
  return state.phase == Phase::kSwitching && state.next->plan.generation() == generation;
}

}  // namespace

std::string WhyRepartition(const SessionState& state, int boundary) {
  if (boundary <= 0) return "no layer is frozen";
  return "layers up to " + state.setup.layer_names.at(boundary - 1) + " are frozen";
}

void ConsiderRepartition(SessionState& state) {
  const int boundary = state.BoundaryAt(state.step);
  const std::string why = std::exchange(state.drift_why, "");
  planner::PlanRequest request;
  request.model = CostsAt(state, boundary);
  request.release = state.setup.spec.release();
  request.baseline = state.baseline;
  request.held = HeldWorkers(state, state.Members());
  request.current = PartitionOf(*state.current);
  const auto planned = planner::MakePlan(request);
  if (!planned) return;

  BeginRepartition(state, NewPlan(state, *planned, boundary),
                   why.empty() ? WhyRepartition(state, boundary) : why);
}

void BeginRepartition(SessionState& state, v1alpha1::Plan plan, const std::string& why) {
  Preparation next;
  next.plan = std::move(plan);
  next.members = MembersOf(*state.current);
  next.members.merge(MembersOf(next.plan));
  SetAddresses(state, next.members, next.plan);
  next.live = true;
  next.step = state.step;
  next.sources = LiveSources(state, next.plan);
  next.since = state.now;
  next.why = why;
  state.next = std::move(next);
  state.phase = Phase::kPreparingLive;
  state.SetState(v1alpha1::JobState::Repartitioning, state.next->why);
  for (const int worker : state.next->members) SendPrepare(state, worker);
}

void ContinuePreparingLive(SessionState& state) {
  if (state.phase != Phase::kPreparingLive || state.next->prepared != state.next->members) return;
  state.phase = Phase::kSwitching;
  SendSwitch(state);
}

void SendSwitch(SessionState& state) {
  auto order = state.NewOrder();
  order.mutable_switch_()->set_generation(state.next->plan.generation());
  state.Send(LeadOf(*state.current), std::move(order));
}

void DropRepartition(SessionState& state, const std::string& why) {
  const Preparation dropped = std::move(*state.next);
  state.next.reset();
  state.phase = Phase::kRunning;
  auto order = state.NewOrder();
  order.mutable_drop()->set_generation(dropped.plan.generation());
  for (const int worker : dropped.members) state.Send(worker, order);
  auto event = state.NewEvent();
  event.mutable_repartition_dropped()->set_generation(dropped.plan.generation());
  event.mutable_repartition_dropped()->set_why(why);
  state.Say(std::move(event));
  state.SetState(v1alpha1::JobState::Running, "");
  ContinueRunning(state);
}

void OnSwitchScheduled(SessionState& state, int worker, const v1alpha1::SwitchScheduled& said) {
  if (!IsSwitchingTo(state, said.generation()) || worker != LeadOf(*state.current)) return;
  state.next->switch_step = said.step();
  SettleIfAllDid(state);
}

void OnSwitched(SessionState& state, int worker, const v1alpha1::Switched& said) {
  if (!IsSwitchingTo(state, said.generation())) return;
  Preparation& next = *state.next;
  if (!next.members.contains(worker) || !next.switched.insert(worker).second) return;
  // The lead's own word may be on its way in a buffer still.
  if (!next.switch_step) next.switch_step = said.step();
  next.stall_seconds = std::max(next.stall_seconds, said.stall_seconds());
  next.bytes_moved += static_cast<double>(said.bytes_received());
  next.bytes_moved_early += static_cast<double>(said.bytes_received_early());
  if (next.switched == next.members) {
    for (const auto& report : std::exchange(next.early_windows, {})) OnWindowReport(state, report);
  }
  RouteFreeze(state);
  SettleIfAllDid(state);
}

void OnSettled(SessionState& state, int worker, const v1alpha1::Settled& said) {
  if (!IsSwitchingTo(state, said.generation())) return;
  if (!MembersOf(state.next->plan).contains(worker)) return;
  state.next->settled.insert(worker);
  AdvanceTo(state, said.step());
  SettleIfAllDid(state);
}

void OnSettledRecorded(SessionState& state, int generation) {
  if (state.phase != Phase::kSettling || state.next->plan.generation() != generation) return;
  const Preparation done = std::move(*state.next);
  const v1alpha1::Plan before = std::move(*state.current);
  state.next.reset();
  state.current = done.plan;
  state.generation_step = *done.switch_step;
  state.began_with_start = false;
  state.pace_since = state.now;
  state.pace_step = state.generation_step;
  state.phase = Phase::kRunning;

  for (const int worker : state.Members()) SendRetire(state, worker);
  const auto released = ReleasedBy(state, *state.current);
  for (const int worker : done.members) {
    if (released.contains(worker)) ReleaseWorker(state, worker);
  }
  SayRepartitionDone(state, done, before);
  SayPlanMade(state, state.current.value());
  if (state.stop_requested) {
    StopTraining(state);
  } else {
    state.SetState(v1alpha1::JobState::Running, "");
  }
  ContinueRunning(state);
}

void SendRetire(SessionState& state, int worker) {
  auto order = state.NewOrder();
  order.mutable_retire()->set_generation(state.current->generation());
  state.Send(worker, std::move(order));
}

}  // namespace freezepipe::coordinator
