#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "proto/freeze_timing.h"

namespace freezepipe::planner {

/// What the workers said of one statistics window.
struct WindowStatistics {
  /// Steps done at its end.
  int step = 0;
  /// Mean training loss over its samples.
  double loss = 0;
  /// Learning rate at its end.
  double learning_rate = 0;
  /// Statistic of each layer; NaN where there is none (frozen, or the first window).
  std::vector<double> values;
};

/// What a run's shape fixes for the policy.
struct RunShape {
  int layers = 0;
  int total_steps = 0;
  int steps_per_epoch = 0;
  int classes = 0;
};

struct FreezeChoice {
  /// Layers [0, boundary) are now chosen.
  int boundary = 0;
  std::string why;
};

/// Decides which layers stop learning. A pure function of the windows so far and the choices made.
class FreezePolicy {
 public:
  virtual ~FreezePolicy() = default;

  /// Called at the end of every window, `windows.back()` the newest; `log` holds the choices so
  /// far. Proposes at most one longer prefix.
  virtual std::optional<FreezeChoice> Decide(
      const std::vector<WindowStatistics>& windows,
      const std::vector<v1alpha1::FreezeLogEntry>& log) const = 0;
};

/// The policy that the manifest names (defaults applied). Manual never proposes: its log is in
/// force from the start.
std::unique_ptr<FreezePolicy> MakeFreezePolicy(const v1alpha1::FreezeSpec& spec,
                                               const RunShape& shape);

/// Steps from choice to freeze.
int CoolDownSteps(const v1alpha1::FreezeSpec& spec, int total_steps);

// What the worker must agree on lives beside the protos.
using freezepipe::BoundaryAt;
using freezepipe::WindowSteps;

}  // namespace freezepipe::planner
