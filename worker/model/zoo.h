#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "worker/model/layer.h"
#include "worker/model/weight_init.h"

namespace freezepipe::worker {

/// One layer of a network of the zoo: its name and how to make it.
struct LayerRecipe {
  std::string name;
  std::function<std::shared_ptr<Layer>(WeightInit&)> make;
};

/// What the networks of the zoo are made for.
struct ZooOptions {
  SampleShape shape;
  double width_multiplier = 1;
  /// First layers for large images; else for small ones.
  bool imagenet_stem = false;
  double dropout = 0;
};

/// A channel count times the width multiplier, at least 1.
int64_t ScaledWidth(int64_t channels, const ZooOptions& options);

std::vector<LayerRecipe> MlpLayers(const std::vector<int64_t>& hidden_sizes,
                                   const ZooOptions& options);
std::vector<LayerRecipe> VggLayers(v1alpha1::ZooModel::Name name, const ZooOptions& options);
std::vector<LayerRecipe> ResNetLayers(v1alpha1::ZooModel::Name name, const ZooOptions& options);
/// Throws SpecError when images cannot be cut into patches.
std::vector<LayerRecipe> VitLayers(v1alpha1::ZooModel::Name name, const ZooOptions& options);

}  // namespace freezepipe::worker
