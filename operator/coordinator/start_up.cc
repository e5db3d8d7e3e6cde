#include "operator/coordinator/start_up.h"

#include "operator/coordinator/describing.h"
#include "operator/coordinator/finishing.h"
#include "operator/coordinator/plan_builder.h"
#include "operator/coordinator/restart.h"

namespace freezepipe::coordinator {
namespace {

/// The first plan, at the frozen boundary of the step that training starts with.
void MakeFirstPlan(SessionState& state) {
  const auto& spec = state.setup.spec;
  const int stages = planner::InitialStages(spec, state.layers());
  const int boundary = state.BoundaryAt(state.step);
  const auto held = HeldWorkers(state, state.Needed());
  const auto unfrozen =
      planner::MakeInitialPlan(CostsAt(state, 0), spec.pipeline().replicas(), held, stages);
  const auto planned =
      planner::MakeInitialPlan(CostsAt(state, boundary), spec.pipeline().replicas(), held, stages);
  if (!unfrozen || !planned) {
    Conclude(state, v1alpha1::JobState::Failed,
             "InvalidSpec: no split of the layers into " + std::to_string(stages) +
                 " stages fits the memory of the workers' devices");
    return;
  }
  state.baseline = planner::MakeBaseline(CostsAt(state, 0), unfrozen->partition);
  PrepareRestart(state, NewPlan(state, *planned, boundary), "");
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
  state.SetState(v1alpha1::JobState::Starting, "");
  state.phase = Phase::kAttaching;
  for (const auto& [worker, unused] : state.workers) state.Launch(worker);
}

void ContinueStartUp(SessionState& state) {
  if (state.phase != Phase::kAttaching) return;
  AskForDescription(state);
  if (!state.described() || !state.AllAttached(state.Needed())) return;
  if (state.profile) {
    MakeFirstPlan(state);
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

int ProfilingWorker(const SessionState& state) { return state.workers.begin()->first; }

}  // namespace freezepipe::coordinator
