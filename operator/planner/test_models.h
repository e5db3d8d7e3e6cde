#pragma once

#include <string>
#include <vector>

#include "operator/planner/cost_model.h"

namespace freezepipe::planner {

/// A layer whose forward takes a third of `seconds` and whose backward takes the rest.
inline v1alpha1::LayerProfile Layer(double seconds, int64_t output_bytes = 0,
                                    int64_t parameter_bytes = 0) {
  v1alpha1::LayerProfile layer;
  layer.set_forward_seconds(seconds / 3);
  layer.set_backward_seconds(seconds - seconds / 3);
  layer.set_output_bytes(output_bytes);
  layer.set_parameter_bytes(parameter_bytes);
  layer.set_optimizer_bytes(parameter_bytes);
  return layer;
}

/// Layers of the given seconds, transfers free, memory unlimited.
inline CostModel ModelOf(const std::vector<double>& seconds, int micro_batches) {
  CostModel model;
  for (double value : seconds) model.layers.push_back(Layer(value));
  model.micro_batches = micro_batches;
  return model;
}

}  // namespace freezepipe::planner
