#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::worker {

/// How one layer's gradients changed over a window, as one number. Costs a pass over the parameters
/// a window, and for NormChange one a step.
class LayerStatistics {
 public:
  LayerStatistics(v1alpha1::FreezeMetric::Type metric, std::vector<at::Tensor> parameters);

  /// After the gradients of a step are complete, before they are clipped.
  void ObserveGradients();

  /// At a window's end, after the update.
  /// EffectivePerturbation: with d the window's accumulated update, E = 0.8 E + 0.2 d and A = 0.8 A
  /// + 0.2 |d| element-wise, P = sum|E| / sum A (Chen et al., Adaptive Parameter Freezing). A
  /// random walk of n updates has P(n) = sqrt(0.2 (1 + 0.8^n) / (1.8 (1 - 0.8^n))), which falls
  /// from 1 to 1/3: P is scaled by (1/3) / P(n), so that a random walk means 1/3 from the start and
  /// short runs freeze like long ones. Nothing in the first two windows. NormChange: L1 norm of the
  /// window's summed gradients (AutoFreeze).
  std::optional<double> EndWindow();

  /// "previous", "mean", "magnitude", "updates" or "gradient"; part of the layer's state.
  std::vector<std::pair<std::string, at::Tensor>> State() const;
  void SetState(const std::string& name, const at::Tensor& value);

 private:
  v1alpha1::FreezeMetric::Type metric_;
  std::vector<at::Tensor> parameters_;
  at::Tensor previous_, mean_, magnitude_;  // EffectivePerturbation, flat
  int64_t updates_ = 0;
  at::Tensor gradient_;  // NormChange, flat
};

}  // namespace freezepipe::worker
