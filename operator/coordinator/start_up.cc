#include "operator/coordinator/start_up.h"

#include <optional>
#include <set>

#include "operator/coordinator/describing.h"
#include "operator/coordinator/finishing.h"
#include "operator/coordinator/hand_over.h"
#include "operator/coordinator/plan_builder.h"
#include "operator/coordinator/restart.h"
#include "operator/coordinator/take_over.h"

namespace freezepipe::coordinator {
namespace {

/// The shape that the job would begin with at this boundary, with all its workers.
std::optional<planner::Shape> InitialShape(const SessionState& state, int boundary) {
  return planner::FullShape(CostsAt(state, boundary), state.setup.spec.pipeline(),
                            /*replicate=*/false, static_cast<int>(state.workers.size()));
}

std::string StagesAsked(const SessionState& state) {
  const int stages = state.setup.spec.pipeline().stages();
  return stages > 0 ? " into " + std::to_string(stages) + " stages" : "";
}

/// The plan to start with: one that a coordinator before this one left; else the first, at the
/// frozen boundary of the step that training starts with.
void MakeStartPlan(SessionState& state) {
  const int boundary = state.BoundaryAt(state.step);
  const auto unfrozen = InitialShape(state, 0);
  const auto shape = InitialShape(state, boundary);
  if (!unfrozen || !shape) {
    Conclude(state, v1alpha1::JobState::Failed,
             "InvalidSpec: no split of the layers" + StagesAsked(state) +
                 " fits the memory of the workers' devices");
    return;
  }
  state.baseline = planner::MakeBaseline(
      planner::WithReplicas(CostsAt(state, 0), unfrozen->replicas), unfrozen->partition);
  if (state.current) {
    PrepareRestart(state, PlanForRestart(state), state.recovery_why);
  } else {
    std::set<int> all;
    for (const auto& [worker, unused] : state.workers) all.insert(worker);
    const auto planned = planner::PlanOf(CostsAt(state, boundary), *shape, HeldWorkers(state, all));
    PrepareRestart(state, NewPlan(state, planned, boundary), "");
  }
}

void AskForProfile(SessionState& state) {
  state.phase = Phase::kProfiling;
  state.profiling_since = state.now;
  SendProfile(state);
}

}  // namespace

void SendProfile(SessionState& state) {
  auto order = state.NewOrder();
  order.mutable_profile();
  state.Send(ProfilingWorker(state), order);
}

void StartJob(SessionState& state) {
  state.started_at = state.now;
  if (CanTakeOver(state)) {
    BeginTakeOver(state);
    return;
  }
  state.SetState(v1alpha1::JobState::Starting, "");
  state.phase = Phase::kAttaching;
  for (const auto& [worker, unused] : state.workers) state.Launch(worker);
}

void ContinueStartUp(SessionState& state) {
  if (state.phase != Phase::kAttaching) return;
  AskForDescription(state);
  if (!state.described() || !state.AllAttached(state.Needed())) return;
  if (AwaitCheckpoint(state)) return;
  if (state.profile) {
    MakeStartPlan(state);
  } else {
    AskForProfile(state);
  }
}

void OnProfile(SessionState& state, int worker, const v1alpha1::ProfileReport& report) {
  if (state.phase != Phase::kProfiling) return;
  if (report.profile().layers_size() != state.layers()) {
    Conclude(state, v1alpha1::JobState::Failed,
             "Internal: the profile has " + std::to_string(report.profile().layers_size()) +
                 " layers, the model " + std::to_string(state.layers()));
    return;
  }
  state.profile = report.profile();
  state.phase = Phase::kAttaching;
  ContinueStartUp(state);
}

int ProfilingWorker(const SessionState& state) { return *state.Needed().begin(); }

}  // namespace freezepipe::coordinator
