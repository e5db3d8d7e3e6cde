#include "operator/coordinator/restart.h"

#include <algorithm>
#include <utility>

#include "operator/coordinator/memory.h"
#include "operator/coordinator/plan_builder.h"
#include "operator/coordinator/release.h"
#include "operator/coordinator/restore_point.h"
#include "operator/coordinator/running.h"

namespace freezepipe::coordinator {
namespace {

RestorePoint FindRestorePoint(const SessionState& state) {
  std::map<int, Holdings> holdings;
  for (const int worker : state.Needed()) holdings[worker] = state.workers.at(worker).holdings;
  // Nobody can say any more whether the lead had announced the freeze: steps that it would have
  // shaped are not used, and it is chosen anew.
  std::optional<int> memory_limit;
  if (state.outstanding && state.lead_was_lost) {
    // A worker that has begun a step with the layers frozen has taken their momentum already.
    const auto& entry = state.outstanding->entry;
    memory_limit = std::min(entry.chosen_at(), entry.frozen_at() - 1);
  }
  return ChooseRestorePoint(state.layers(), holdings, state.checkpoints.newest(), memory_limit);
}

/// Freeze log, windows and step as they were at the restore point. Confirmed freezes stay, also
/// those of later steps: they are durable, and the steps that come again follow them.
void GoBackTo(SessionState& state, int step) {
  if (state.outstanding) {
    state.freeze_log.pop_back();
    state.outstanding.reset();
  }
  state.lead_was_lost = false;
  std::erase_if(state.windows, [step](const auto& window) { return window.step > step; });
  state.collector.Rewind(step);
  state.checkpoints.Rewind(step);
  state.finished.clear();
  state.step = step;
}

/// Names who has to fetch each layer that comes from a worker.
void SetReceivers(const SessionState& state, const v1alpha1::Plan& plan, int step,
                  std::vector<v1alpha1::LayerSource>& sources) {
  for (auto& source : sources) {
    if (source.source_case() != v1alpha1::LayerSource::kWorker) continue;
    auto owners = OwnersOf(plan, source.layer());
    std::sort(owners.begin(), owners.end());
    for (const int owner : owners) {
      const auto& holdings = state.workers.at(owner).holdings;
      const auto copies = holdings.find(source.layer());
      const bool holds = copies != holdings.end() && copies->second.contains(step);
      if (!holds) source.add_receivers(owner);
    }
  }
}

void SayRestored(SessionState& state, const Preparation& done) {
  auto event = state.NewEvent();
  auto* restored = event.mutable_restored();
  restored->set_generation(done.plan.generation());
  restored->set_step(done.step);
  restored->set_steps_lost(std::max(0, done.lost_at - done.step));
  restored->set_source(done.origin);
  state.Say(std::move(event));
}

}  // namespace

void PrepareRestart(SessionState& state, v1alpha1::Plan plan, const std::string& lost) {
  const int lost_at = state.step;
  RestorePoint point = FindRestorePoint(state);
  GoBackTo(state, point.step);
  SetReceivers(state, plan, point.step, point.sources);

  Preparation preparation;
  preparation.members = MembersOf(plan);
  SetAddresses(state, preparation.members, plan);
  preparation.plan = std::move(plan);
  preparation.live = false;
  preparation.step = point.step;
  preparation.sources = std::move(point.sources);
  preparation.since = state.now;
  preparation.why = lost;
  preparation.origin = point.origin;
  preparation.lost_at = lost_at;
  state.next = std::move(preparation);
  state.phase = Phase::kPreparing;
  for (const int worker : state.next->members) SendPrepare(state, worker);
}

void SendPrepare(SessionState& state, int worker) {
  const Preparation& next = *state.next;
  Worker& known = state.workers.at(worker);
  if (known.attached) known.generation = next.plan.generation();
  auto order = state.NewOrder();
  auto* prepare = order.mutable_prepare();
  *prepare->mutable_plan() = next.plan;
  prepare->mutable_sources()->Assign(next.sources.begin(), next.sources.end());
  prepare->set_live(next.live);
  prepare->set_step(next.step);
  state.Send(worker, std::move(order));
}

void ContinueRestart(SessionState& state) {
  if (state.phase != Phase::kPreparing || state.next->prepared != state.next->members) return;
  state.phase = Phase::kRecording;
  DescribePlan(state, state.next->plan, state.next->step);
  state.WriteRecord(PendingRecord::Purpose::kStart, state.next->plan.generation());
}

void OnStartRecorded(SessionState& state, int generation) {
  if (state.phase != Phase::kRecording || state.next->plan.generation() != generation) return;
  const Preparation done = std::move(*state.next);
  const int stages_before = state.current ? state.current->stages_size() : 0;
  state.next.reset();
  state.current = done.plan;
  state.generation_step = done.step;
  state.began_with_start = true;
  state.stopping_for_hand_over = false;
  state.pace_since = state.heard_at = state.now;
  state.pace_step = done.step;
  state.phase = Phase::kRunning;
  for (auto& [worker, known] : state.workers) known.holdings.clear();
  for (const int worker : done.members) {
    RememberAll(state, worker);
    SendStart(state, worker);
  }
  SayPlanMade(state, done.plan);
  if (!done.why.empty()) SayRestored(state, done);
  for (const int worker : ReleasedBy(state, done.plan)) ReleaseWorker(state, worker);
  state.SetState(v1alpha1::JobState::Running, "");
  // Freezes that came while the partition before the restart was in force; and those that a plan
  // which took all it got back was not made by.
  const int boundary = state.BoundaryAt(state.step);
  const bool grew = stages_before > 0 && done.plan.stages_size() > stages_before;
  state.consider_repartition = boundary > done.plan.boundary() || (grew && boundary > 0);
  ContinueRunning(state);
}

void SendStart(SessionState& state, int worker) {
  auto order = state.NewOrder();
  auto* start = order.mutable_start();
  start->set_generation(state.current->generation());
  start->set_step(state.generation_step);
  start->mutable_freeze_log()->Assign(state.freeze_log.begin(), state.freeze_log.end());
  state.Send(worker, std::move(order));
}

}  // namespace freezepipe::coordinator
