#include "worker/model/layer_tensors.h"

namespace freezepipe::worker {

std::vector<std::pair<std::string, at::Tensor>> LayerTensors(const Layer& layer) {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const auto& item : layer.named_parameters()) tensors.emplace_back(item.key(), item.value());
  for (const auto& item : layer.named_buffers()) tensors.emplace_back(item.key(), item.value());
  return tensors;
}

std::string ExportName(const Model& model, int layer, const std::string& tensor) {
  return model.name(layer) + "." + tensor;
}

}  // namespace freezepipe::worker
