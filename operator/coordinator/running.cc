#include "operator/coordinator/running.h"

#include <algorithm>
#include <utility>

#include "operator/coordinator/drift.h"
#include "operator/coordinator/finishing.h"
#include "operator/coordinator/freezing.h"
#include "operator/coordinator/hand_over.h"
#include "operator/coordinator/memory.h"
#include "operator/coordinator/repartition.h"
#include "proto/learning_rate.h"

namespace freezepipe::coordinator {
namespace {

/// The plan in force or being switched to with this number; nullptr for any other.
const v1alpha1::Plan* PlanOf(const SessionState& state, int generation) {
  if (state.current && state.current->generation() == generation) return &*state.current;
  if (state.next && state.next->live && state.next->plan.generation() == generation) {
    return &state.next->plan;
  }
  return nullptr;
}

/// Seconds to the last step at the generation's pace so far, evaluations included.
double SecondsLeft(const SessionState& state, double step_seconds) {
  const int done = state.step - state.pace_step;
  const double pace = done > 0 ? (state.now - state.pace_since) / done : step_seconds;
  return pace * std::max(0, state.setup.shape.total_steps - state.step);
}

void SayWindow(SessionState& state, const planner::WindowStatistics& window) {
  auto event = state.NewEvent();
  auto* done = event.mutable_window_done();
  const int boundary = state.BoundaryAt(window.step - 1);
  done->set_step(window.step);
  done->set_loss(window.loss);
  done->set_first_layer(boundary);
  for (size_t layer = boundary; layer < window.values.size(); ++layer) {
    done->add_values(window.values[layer]);
  }
  state.Say(std::move(event));
}

void SayStageTimes(SessionState& state, const v1alpha1::WindowReport& report) {
  auto event = state.NewEvent();
  auto* times = event.mutable_stage_times();
  times->set_generation(report.generation());
  times->set_stage(report.stage());
  times->set_seconds(report.seconds());
  times->set_forward_seconds(report.forward_seconds());
  times->set_backward_seconds(report.backward_seconds());
  times->set_optimizer_seconds(report.optimizer_seconds());
  times->set_wait_seconds(report.wait_seconds());
  if (report.has_cached_share()) times->set_cached_share(report.cached_share());
  state.Say(std::move(event));
}

}  // namespace

void ContinueRunning(SessionState& state) {
  if (state.phase != Phase::kRunning) return;
  SayFreezes(state);
  RouteFreeze(state);
  if (ConcludeIfFinished(state)) return;
  if (state.stop_requested) return;
  if (ContinueHandOver(state)) return;
  if (std::exchange(state.consider_repartition, false)) ConsiderRepartition(state);
}

void AdvanceTo(SessionState& state, int step) {
  if (step <= state.step) return;
  state.step = step;
  if (step > state.progress_mark) state.restarts_without_progress = 0;
  SayFreezes(state);
}

void OnStepReport(SessionState& state, const v1alpha1::StepReport& report) {
  if (state.phase == Phase::kGathering || !PlanOf(state, report.generation())) return;
  AdvanceTo(state, report.step());
  RepeatStop(state);
  auto event = state.NewEvent();
  auto* progress = event.mutable_progress();
  progress->set_loss(report.loss());
  progress->set_samples_per_second(report.samples_per_second());
  progress->set_learning_rate(report.learning_rate());
  progress->set_step_seconds(report.step_seconds());
  progress->set_total_steps(state.setup.shape.total_steps);
  progress->set_seconds_left(SecondsLeft(state, report.step_seconds()));
  state.status.set_loss(report.loss());
  // A worker goes on until it is told of the end.
  if (state.Trains()) {
    state.status.set_seconds_left(static_cast<int>(progress->seconds_left()));
  }
  state.Say(std::move(event));
}

// Also while the living are gathered for a restart: the window may end before the step that it goes
// on from.
void OnWindowReport(SessionState& state, const v1alpha1::WindowReport& report) {
  const v1alpha1::Plan* plan = PlanOf(state, report.generation());
  if (!plan) return;
  if (state.next && plan == &state.next->plan && state.next->switched != state.next->members) {
    state.next->early_windows.push_back(report);
    return;
  }
  if (state.phase != Phase::kGathering) AdvanceTo(state, report.step());
  if (!state.collector.IsNews(report)) return;
  SayStageTimes(state, report);
  auto whole = state.collector.Add(report, plan->stages_size());
  if (!whole) return;
  auto& window = whole->statistics;
  window.learning_rate =
      LearningRateAt(state.setup.spec.training(), window.step - 1, state.setup.shape.total_steps);
  SayWindow(state, window);
  state.windows.push_back(std::move(window));
  RememberWindow(state);
  WatchDrift(state, *whole);
  DecideFreeze(state);
}

void OnCacheTooSlow(SessionState& state, int worker, const v1alpha1::CacheTooSlow& report) {
  auto event = state.NewEvent();
  auto* given_up = event.mutable_cache_given_up();
  given_up->set_worker(worker);
  given_up->set_level(report.level());
  given_up->set_read_seconds(report.read_seconds());
  given_up->set_computed_seconds(report.computed_seconds());
  state.Say(std::move(event));
}

void OnEvaluation(SessionState& state, const v1alpha1::EvaluationReport& report) {
  auto event = state.NewEvent();
  auto* done = event.mutable_epoch_done();
  done->set_epoch(report.epoch());
  done->set_step(report.step());
  done->set_accuracy(report.accuracy());
  done->set_loss(report.loss());
  done->set_training_loss(report.training_loss());
  done->set_time(event.time());
  done->set_evaluation_seconds(report.seconds());
  state.status.set_accuracy(report.accuracy());
  state.Say(std::move(event));
}

}  // namespace freezepipe::coordinator
