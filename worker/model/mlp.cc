#include <ATen/ops/dropout.h>
#include <ATen/ops/relu.h>

#include "worker/model/heads.h"
#include "worker/model/modules.h"
#include "worker/model/zoo.h"

namespace freezepipe::worker {
namespace {

/// Flatten, linear, ReLU, dropout.
class Hidden : public Layer {
 public:
  Hidden(WeightInit& init, int64_t inputs, int64_t outputs, double dropout)
      : linear_(register_module("linear", std::make_shared<Linear>(init, inputs, outputs))),
        dropout_(dropout) {}

  at::Tensor Forward(const at::Tensor& input, const ForwardContext& context) override {
    at::Tensor output = linear_->Forward(input.flatten(1));
    at::relu_(output);
    return dropout_ > 0 ? at::dropout(output, dropout_, context.training) : output;
  }

 private:
  std::shared_ptr<Linear> linear_;
  double dropout_;
};

}  // namespace

std::vector<LayerRecipe> MlpLayers(const std::vector<int64_t>& hidden_sizes,
                                   const ZooOptions& options) {
  std::vector<LayerRecipe> layers;
  int64_t inputs = options.shape.channels * options.shape.height * options.shape.width;
  for (const int64_t size : hidden_sizes) {
    const int64_t outputs = ScaledWidth(size, options);
    layers.push_back({"hidden" + std::to_string(layers.size() + 1),
                      [inputs, outputs, dropout = options.dropout](WeightInit& init) {
                        return std::make_shared<Hidden>(init, inputs, outputs, dropout);
                      }});
    inputs = outputs;
  }
  layers.push_back(LinearHead(inputs, options.shape.classes));
  return layers;
}

}  // namespace freezepipe::worker
