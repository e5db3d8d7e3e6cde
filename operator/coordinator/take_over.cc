#include "operator/coordinator/take_over.h"

#include <algorithm>
#include <utility>

#include "operator/coordinator/describing.h"
#include "operator/coordinator/finishing.h"
#include "operator/coordinator/freezing.h"
#include "operator/coordinator/hand_over.h"
#include "operator/coordinator/job_session.h"
#include "operator/coordinator/memory.h"
#include "operator/coordinator/plan_builder.h"
#include "operator/coordinator/recovery.h"
#include "operator/coordinator/repartition.h"
#include "operator/coordinator/running.h"
#include "operator/coordinator/said.h"
#include "operator/coordinator/start_up.h"
#include "operator/coordinator/window_record.h"

namespace freezepipe::coordinator {
namespace {

using v1alpha1::Hello;
using v1alpha1::JobState;

/// The record doesn't say what boundary the stages were cut for: that of their first step.
v1alpha1::Plan RecordedPlan(const SessionState& state) {
  const auto& record = *state.setup.record;
  v1alpha1::Plan plan;
  plan.set_term(state.setup.term);
  plan.set_generation(record.generation());
  plan.set_boundary(state.BoundaryAt(record.generation_step()));
  plan.set_replicas(record.stages(0).workers_size());
  for (const auto& recorded : record.stages()) {
    auto* stage = plan.add_stages();
    stage->set_first_layer(recorded.first_layer());
    stage->set_end_layer(recorded.end_layer());
    *stage->mutable_workers() = recorded.workers();
  }
  std::set<int> others;
  for (const auto& [worker, unused] : state.workers) others.insert(worker);
  for (const int worker : record.released_workers()) others.erase(worker);
  Await(others, plan);
  return plan;
}

/// No worker was there any more when the other coordinator ended.
bool StoodStill(const SessionState& state) {
  switch (state.setup.record->state()) {
    case JobState::Pending:
    case JobState::Stopped:
    case JobState::Suspended:
      return true;
    default:
      return false;
  }
}

const Hello& HelloOf(const SessionState& state, int worker) {
  return state.workers.at(worker).hello;
}

bool Trains(const Hello& hello, int generation) {
  return hello.has_plan() && !hello.stands_still() && hello.plan().generation() >= generation;
}

/// The workers' word on the plans: the one in force as they have it, and the newest one behind it.
struct Plans {
  std::optional<v1alpha1::Plan> current;
  std::optional<v1alpha1::Plan> next;
  /// Some worker may have switched to it, or will.
  bool switching = false;
};

Plans FindPlans(const SessionState& state) {
  Plans plans;
  const int generation = state.current->generation();
  const auto consider = [&](const v1alpha1::Plan& plan) {
    if (plan.generation() <= generation) return;
    if (!plans.next || plans.next->generation() < plan.generation()) plans.next = plan;
  };
  for (const int worker : state.Members()) {
    const Hello& hello = HelloOf(state, worker);
    if (hello.plan().generation() == generation) plans.current = hello.plan();
    consider(hello.plan());
    consider(hello.next());
    plans.switching = plans.switching || hello.plan().generation() > generation;
  }
  const Hello& lead = HelloOf(state, LeadOf(*state.current));
  plans.switching = plans.switching || lead.switching_to() > generation;
  return plans;
}

/// The worker that keeps training from going on as it is, and why; empty if there is none.
std::string FindStandStill(const SessionState& state, const Plans& plans) {
  for (const int worker : state.Members()) {
    const Hello& hello = HelloOf(state, worker);
    const std::string name = "worker " + std::to_string(worker);
    if (hello.generation() == 0) return name + " is new";
    if (!Trains(hello, state.current->generation())) return name + " stands still";
    const bool at_next = plans.next && (hello.plan().generation() == plans.next->generation() ||
                                        hello.next().generation() == plans.next->generation());
    if (plans.switching && !at_next) return name + " can't switch";
  }
  return "";
}

bool NobodyHoldsAnything(const SessionState& state) {
  const auto members = state.Members();
  return std::all_of(members.begin(), members.end(), [&](int worker) {
    return HelloOf(state, worker).holdings().empty() && !HelloOf(state, worker).has_plan();
  });
}

/// The last entry of the record may be on its way to the lead still, or have got other steps there.
void TakeFreezeLog(SessionState& state) {
  const bool manual = state.setup.spec.freeze().policy() == v1alpha1::FreezePolicy::Manual;
  if (manual || state.freeze_log.empty() || StoodStill(state)) return;
  const auto entry = state.freeze_log.back();
  state.outstanding = OutstandingFreeze{.entry = entry, .recorded = true};
  for (const int worker : state.Members()) {
    for (const auto& followed : HelloOf(state, worker).freeze_log()) ConfirmFreeze(state, followed);
  }
  const Hello& lead = HelloOf(state, LeadOf(*state.current));
  state.lead_was_lost = state.outstanding && !lead.has_plan();
}

void TakeNumbers(SessionState& state) {
  for (const auto& [worker, known] : state.workers) {
    state.last_generation = std::max(state.last_generation, known.hello.generation());
    for (const auto& copy : known.hello.holdings()) {
      for (const int step : copy.steps()) state.step = std::max(state.step, step);
    }
  }
}

void Drop(SessionState& state, int generation) {
  auto order = state.NewOrder();
  order.mutable_drop()->set_generation(generation);
  for (const int worker : state.Members()) state.Send(worker, order);
}

void GoOn(SessionState& state, Plans plans) {
  if (plans.current) state.current = std::move(*plans.current);
  state.began_with_start = false;
  state.pace_since = state.heard_at = state.now;
  state.pace_step = state.step;
  // Before the phase changes: training is at it.
  for (const int worker : state.Members()) RememberIfBehind(state, worker);
  if (plans.switching) {
    Preparation next;
    next.plan = std::move(*plans.next);
    next.live = true;
    next.step = state.step;
    next.members = state.Members();
    next.prepared = next.members;
    next.since = state.now;
    next.why = WhyRepartition(state, next.plan.boundary());
    state.next = std::move(next);
    state.phase = Phase::kSwitching;
    state.SetState(JobState::Repartitioning, state.next->why);
    return;
  }
  state.phase = Phase::kRunning;
  if (plans.next) Drop(state, plans.next->generation());
  // It is recorded, and all are in it.
  for (const int worker : state.Members()) SendRetire(state, worker);
  state.consider_repartition = state.BoundaryAt(state.step) > state.current->boundary();
  if (HelloOf(state, LeadOf(*state.current)).stopping()) {
    state.stopping_for_hand_over = MayStopForHandOver(state);
    state.stop_requested = state.stop_requested || !state.stopping_for_hand_over;
  }
  if (state.stop_requested) {
    StopTraining(state);
  } else {
    state.SetState(JobState::Running, "");
  }
}

/// Workers that were lost while no coordinator was there, without a trace: had they ended by
/// themselves, their end would be there to see.
void CountLosses(SessionState& state) {
  if (state.setup.record->state() == JobState::Recovering) return;  // the other one counted them
  for (const int worker : state.Members()) {
    const bool lost = HelloOf(state, worker).generation() == 0;
    if (lost && !state.lost_in_recovery.contains(worker)) {
      state.status.set_disruptions(state.status.disruptions() + 1);
    }
  }
}

void Recover(SessionState& state, Plans plans, const std::string& found) {
  if (plans.current) state.current = std::move(*plans.current);
  const bool nothing = NobodyHoldsAnything(state);
  if (nothing && StoodStill(state)) {
    state.phase = Phase::kGathering;
    state.gathering_since = state.now;
    state.recovery_why.clear();
    ContinueRecovery(state);
    return;
  }
  CountLosses(state);
  BeginRecovery(state, state.recovery_why.empty() ? found : state.recovery_why);
  ContinueRecovery(state);
}

}  // namespace

bool CanTakeOver(const SessionState& state) {
  if (!state.setup.record || !state.setup.record->has_generation()) return false;
  const auto& record = *state.setup.record;
  std::set<int> known(record.released_workers().begin(), record.released_workers().end());
  int end = 0;
  for (const auto& stage : record.stages()) {
    if (stage.first_layer() != end) return false;
    if (stage.workers_size() != record.stages(0).workers_size()) return false;
    end = stage.end_layer();
    known.insert(stage.workers().begin(), stage.workers().end());
  }
  if (state.described() && end != state.layers()) return false;
  // Others are awaited; or the job was given more while it was suspended.
  if (known.size() != state.workers.size() && StoodStill(state)) return false;
  return std::all_of(known.begin(), known.end(),
                     [&](int worker) { return state.workers.contains(worker); });
}

void BeginTakeOver(SessionState& state) {
  state.current = RecordedPlan(state);
  state.last_generation = state.current->generation();
  state.generation_step = state.setup.record->generation_step();
  DescribePlan(state, *state.current, state.generation_step);
  state.phase = Phase::kTakingOver;
  if (StoodStill(state)) {
    state.SetState(JobState::Starting, "");
  }
  const auto released = ReleasedBy(state, *state.current);
  for (auto& [worker, known] : state.workers) {
    if (!released.contains(worker)) {
      state.Launch(worker);
      known.taken_over = true;
    } else {
      // It may live still, if its Release was not sent.
      known.alive = true;
      known.released_at = state.now;
      known.release_noticed = true;
    }
  }
}

void ContinueTakeOver(SessionState& state) {
  if (state.phase != Phase::kTakingOver) return;
  TakeDescription(state);
  AskForDescription(state);
  if (!state.described() || !state.AllAttached(state.Members())) return;
  TakeMemory(state);
  TakeNumbers(state);
  TakeFreezeLog(state);
  Plans plans = FindPlans(state);
  const std::string stand_still = FindStandStill(state, plans);
  if (stand_still.empty()) {
    GoOn(state, std::move(plans));
  } else {
    // What a switch under way left counts as copies of the plan before it.
    Recover(state, std::move(plans), stand_still + " as this coordinator took over");
  }
  for (auto& [worker, message] : std::exchange(state.unheard, {})) {
    OnSaid(state, worker, message);
  }
  // The window that the other coordinator told of last it may not have decided on.
  if (!state.windows.empty()) DecideFreeze(state);
}

bool AwaitCheckpoint(SessionState& state) {
  const auto& record = state.setup.record;
  if (!record || state.checkpoints_known || state.setup.checkpoint_directory.empty()) return false;
  if (!record->has_generation() && !record->has_checkpoint_step()) return false;
  if (!state.finder) {
    state.finder = *state.Needed().begin();
    state.finding_since = state.now;
    SendFindCheckpoint(state);
  }
  return true;
}

void SendFindCheckpoint(SessionState& state) {
  auto order = state.NewOrder();
  order.mutable_find_checkpoint();
  state.Send(*state.finder, std::move(order));
}

void OnCheckpointFound(SessionState& state, int worker, const v1alpha1::CheckpointFound& said) {
  if (state.finder != worker) return;
  state.finder.reset();
  state.checkpoints_known = true;
  state.checkpoints = CheckpointLedger(state.layers(), state.setup.spec.checkpoint().keep());
  state.status.clear_checkpoint_step();
  if (said.has_newest()) {
    const auto& index = said.newest();
    for (const int step : said.older_steps()) state.checkpoints.AddComplete(step);
    state.checkpoints.AddComplete(index.step());
    state.status.set_checkpoint_step(index.step());
    for (const auto& entry : index.freeze_log()) ConfirmFreeze(state, entry);
    if (state.windows.empty()) {
      for (const auto& record : index.windows()) state.windows.push_back(FromRecord(record));
    }
  }
  ContinueStartUp(state);
  ContinueRecovery(state);
}

}  // namespace freezepipe::coordinator
