#pragma once

#include <string>
#include <utility>
#include <vector>

#include "worker/model/layer.h"

namespace freezepipe::worker {

/// A layer's parameters, then its buffers, under their module names ("conv.weight"): the tensors
/// themselves.
std::vector<std::pair<std::string, at::Tensor>> LayerTensors(const Layer& layer);

/// Name of a layer's tensor in a file of the whole model: "block1.2.conv1.weight".
std::string ExportName(const Model& model, int layer, const std::string& tensor);

}  // namespace freezepipe::worker
