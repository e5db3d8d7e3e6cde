#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"

namespace torch::optim {
class Optimizer;
}

namespace freezepipe::worker {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// LibTorch's optimizer over one layer's parameters, so that its slots travel with the layer.
class LayerOptimizer {
 public:
  /// Parameters under their names in the layer; none is fine.
  LayerOptimizer(const v1alpha1::OptimizerSpec& spec, NamedTensors parameters);
  ~LayerOptimizer();

  /// One update from the parameters' gradients, which are then dropped.
  void Step(double learning_rate);

  /// "<parameter>/<slot>" of every slot there is; AdamW's step count as an int64 scalar.
  NamedTensors Slots() const;
  void SetSlots(const NamedTensors& slots);

 private:
  v1alpha1::Optimizer::Type type_;
  NamedTensors parameters_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;  // null without parameters
};

}  // namespace freezepipe::worker
