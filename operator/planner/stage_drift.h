#pragma once

#include <optional>
#include <vector>

namespace freezepipe::planner {

/// What the stages of a plan took in one statistics window.
struct StageTimes {
  /// Of the window.
  double seconds = 0;
  /// Of each stage's forward and backward passes.
  std::vector<double> busy_seconds;
};

/// Drops the oldest windows, as far as the others are enough to tell: what was long ago says
/// nothing about now.
void KeepNewest(std::vector<StageTimes>& windows);

/// How much more of the pipeline's work each stage has than the plan predicted, as a factor: the
/// median over the windows of its share of all stages' busy seconds, by its predicted share.
/// nullopt while every stage is within a tenth of what was predicted, or the windows are too few or
/// too short to tell. `predicted_seconds`: of each stage, for one micro-batch.
std::optional<std::vector<double>> StageDrift(const std::vector<double>& predicted_seconds,
                                              const std::vector<StageTimes>& windows);

}  // namespace freezepipe::planner
