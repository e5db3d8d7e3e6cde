#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/checkpoint/layer_state.h"
#include "worker/freeze/layer_statistics.h"
#include "worker/model/batch_norm.h"
#include "worker/model/layer.h"
#include "worker/pipeline/job_context.h"
#include "worker/pipeline/layer_optimizer.h"

namespace freezepipe::worker {

/// Steps' training losses added up since the window and since the epoch began. The last layer keeps
/// them: they travel with its state to another lead, into a checkpoint and out of it.
struct LossSums {
  double window = 0;
  double window_steps = 0;
  double epoch = 0;
  double epoch_steps = 0;
};

/// A layer that this worker trains, or runs frozen, with everything that travels with it.
class OwnedLayer {
 public:
  /// As saved in `state`; if null, fresh, from the seed and spec.model.initialWeights. Throws
  /// std::runtime_error when the state is another layer's.
  OwnedLayer(const JobContext& job, int index, const LayerState* state);

  int index() const { return index_; }
  const std::string& name() const { return name_; }
  Layer& module() { return *module_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  const std::vector<BatchNorm*>& batch_norms() const { return batch_norms_; }
  bool frozen() const { return frozen_; }
  /// Null when the layer is frozen or the policy needs no statistics.
  LayerStatistics* statistics() { return statistics_ ? &*statistics_ : nullptr; }

  LossSums& loss_sums() { return loss_sums_; }

  /// No gradient, no optimizer slots, no statistics from here on.
  void Freeze();
  /// One update; a frozen layer stays as it is.
  void Update(double learning_rate);
  /// A copy of everything, on the CPU, after `step` steps.
  LayerState Save(int step) const;

 private:
  void Load(const LayerState& state);

  const int index_;
  const std::string name_;
  std::shared_ptr<Layer> module_;
  std::vector<at::Tensor> parameters_;
  std::vector<BatchNorm*> batch_norms_;
  std::optional<LayerOptimizer> optimizer_;
  std::optional<LayerStatistics> statistics_;
  LossSums loss_sums_;
  bool frozen_ = false;
};

}  // namespace freezepipe::worker
