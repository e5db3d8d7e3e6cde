#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::worker {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// SGD or AdamW over one layer's parameters, by LibTorch's fused kernels, with slots that travel
/// with the layer.
class LayerOptimizer {
 public:
  /// Parameters under their names in the layer; none is fine.
  LayerOptimizer(const v1alpha1::OptimizerSpec& spec, const NamedTensors& parameters);

  /// One update from the parameters' gradients, which are then dropped.
  void Step(double learning_rate);

  /// "<parameter>/<slot>" of every slot there is; AdamW's step count as an int64 scalar.
  NamedTensors Slots() const;
  /// Throws std::runtime_error when a parameter has some of its slots only.
  void SetSlots(const NamedTensors& slots);

 private:
  struct Parameter {
    std::string name;
    at::Tensor value;
    /// Undefined before the first update. SGD has the first alone, and with momentum only.
    at::Tensor first_moment, second_moment;
    int64_t steps = 0;
  };

  const v1alpha1::OptimizerSpec spec_;
  std::vector<Parameter> parameters_;
};

}  // namespace freezepipe::worker
