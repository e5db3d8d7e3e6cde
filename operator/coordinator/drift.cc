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

/// Of a window's samples, from which on the frozen layers' outputs count as read, but for those of
/// an epoch's short last batch.
constexpr double kReadShare = 0.95;

/// Below this they count as computed, once every sample has had its turn.
constexpr double kComputedShare = 0.5;

/// True if the workers keep outputs that the plan doesn't count on, or don't those that it does:
/// for want of room, say.
bool CacheDiffers(SessionState& state, const WholeWindow& window, int first_step, int boundary) {
  if (!window.cached_share) return false;
  if (*window.cached_share >= kReadShare) return state.not_cached.erase(boundary) > 0;
  const int epoch_before = first_step - state.setup.shape.steps_per_epoch;
  const bool all_had_their_turn =
      epoch_before >= state.generation_step && state.BoundaryAt(epoch_before) == boundary;
  if (!all_had_their_turn || *window.cached_share >= kComputedShare) return false;
  return CostsAt(state, boundary).frozen_work == planner::FrozenWork::kCached &&
         state.not_cached.insert(boundary).second;
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
  if (CacheDiffers(state, window, first_step, boundary)) {
    state.drift_windows.clear();
    state.drift_why = state.not_cached.contains(boundary)
                          ? "outputs of the frozen layers are computed, not read"
                          : "outputs of the frozen layers are read";
    state.consider_repartition = true;
    return;
  }
  const auto model = CostsAt(state, boundary);
  // So does one in which the activation cache was being filled.
  const bool filling = window.cached_share && *window.cached_share < kReadShare;
  if (model.frozen_work == planner::FrozenWork::kCached && filling) return;

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
