#pragma once

#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "worker/model/layer.h"

namespace freezepipe::worker {

/// Copies a layer's parameters and buffers from the file, under the names that an export gives them
/// (worker/model/layer_tensors.h). Throws std::runtime_error naming the file when it is missing or
/// damaged, or naming the first tensor that it lacks or has in another shape, with both shapes;
/// with ignoreMismatched such tensors stay as they are.
void LoadInitialWeights(const v1alpha1::InitialWeightsSpec& spec, const Model& model, int layer,
                        Layer& target);

/// How a layer's parameters and buffers fit a file.
struct WeightsFit {
  /// Tensors that the file has in the right shape.
  int fitting = 0;
  /// What is wrong with each of the others, naming it.
  std::vector<std::string> mismatches;
};

/// Reads the file's header alone; ignoreMismatched changes nothing. Throws std::runtime_error when
/// the file is missing or damaged.
WeightsFit CheckInitialWeights(const v1alpha1::InitialWeightsSpec& spec, const Model& model,
                               int layer, const Layer& target);

}  // namespace freezepipe::worker
