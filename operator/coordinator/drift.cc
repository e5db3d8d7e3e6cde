#include "operator/coordinator/drift.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "operator/coordinator/plan_builder.h"
#include "proto/freeze_timing.h"

namespace freezepipe::coordinator {
namespace {

std::string WhyDrift(const std::vector<double>& factors) {
  const auto worst = std::max_element(factors.begin(), factors.end());
  char why[80];
  std::snprintf(why, sizeof(why), "stage %d has %.0f %% more of the work than planned",
                static_cast<int>(worst - factors.begin()), 100 * (*worst - 1));
  return why;
}

void CorrectLayers(SessionState& state, const std::vector<double>& stage_factors) {
  state.layer_factors.resize(state.layers(), 1);
  for (int i = 0; i < state.current->stages_size(); ++i) {
    const auto& stage = state.current->stages(i);
    for (int layer = stage.first_layer(); layer < stage.end_layer(); ++layer) {
      state.layer_factors[layer] *= stage_factors[i];
    }
  }
}

}  // namespace

void WatchDrift(SessionState& state, const WholeWindow& window) {
  if (state.phase != Phase::kRunning) return;
  // A window in which a generation or a frozen boundary began mixes two amounts of work.
  const auto& shape = state.setup.shape;
  const int first_step =
      window.statistics.step - WindowSteps(state.setup.spec.freeze(), shape.steps_per_epoch);
  const int boundary = state.BoundaryAt(window.statistics.step - 1);
  if (first_step < state.generation_step || state.BoundaryAt(first_step) != boundary) return;
  const auto model = CostsAt(state, boundary);
  // So does one in which the activation cache was being filled.
  if (model.frozen_work == planner::FrozenWork::kCached && window.computed_frozen) return;

  const std::pair measured{state.current->generation(), boundary};
  if (std::exchange(state.drift_windows_of, measured) != measured) state.drift_windows.clear();
  state.drift_windows.push_back(window.times);
  planner::KeepNewest(state.drift_windows);
  const auto predicted = planner::StageSeconds(model, PartitionOf(*state.current));
  const auto factors = planner::StageDrift(predicted, state.drift_windows);
  if (!factors) return;
  state.drift_windows.clear();
  CorrectLayers(state, *factors);
  state.drift_why = WhyDrift(*factors);
  state.consider_repartition = true;
}

}  // namespace freezepipe::coordinator
