#include "worker/checkpoint/initial_weights.h"

#include <ATen/core/grad_mode.h>

#include <sstream>
#include <stdexcept>
#include <utility>

#include "worker/checkpoint/safetensors.h"
#include "worker/model/layer_tensors.h"

namespace freezepipe::worker {
namespace {

std::string ShapeText(at::IntArrayRef shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

/// What is wrong with the file's tensor of that name; empty if it fits.
std::string Mismatch(const safetensors::Entry* entry, const std::string& name,
                     const at::Tensor& expected) {
  if (entry == nullptr) {
    return "tensor \"" + name + "\" is absent: expected shape " + ShapeText(expected.sizes());
  }
  if (expected.sizes() == at::IntArrayRef(entry->shape)) return "";
  return "tensor \"" + name + "\" has shape " + ShapeText(entry->shape) + ": expected " +
         ShapeText(expected.sizes());
}

}  // namespace

void LoadInitialWeights(const v1alpha1::InitialWeightsSpec& spec, const Model& model, int layer,
                        Layer& target) {
  safetensors::Reader reader(spec.path());
  const at::NoGradGuard no_grad;
  for (auto& [tensor_name, tensor] : LayerTensors(target)) {
    const std::string name = ExportName(model, layer, tensor_name);
    const safetensors::Entry* entry = reader.Find(name);
    const std::string mismatch = Mismatch(entry, name, tensor);
    if (mismatch.empty()) {
      tensor.copy_(reader.Read(*entry));
    } else if (!spec.ignore_mismatched()) {
      throw std::runtime_error(spec.path() + ": " + mismatch);
    }
  }
}

WeightsFit CheckInitialWeights(const v1alpha1::InitialWeightsSpec& spec, const Model& model,
                               int layer, const Layer& target) {
  const safetensors::Reader reader(spec.path());
  WeightsFit fit;
  for (const auto& [tensor_name, tensor] : LayerTensors(target)) {
    const std::string name = ExportName(model, layer, tensor_name);
    std::string mismatch = Mismatch(reader.Find(name), name, tensor);
    if (mismatch.empty()) {
      ++fit.fitting;
    } else {
      fit.mismatches.push_back(std::move(mismatch));
    }
  }
  return fit;
}

}  // namespace freezepipe::worker
