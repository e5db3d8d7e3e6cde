#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include "worker/model/batch_norm.h"
#include "worker/model/heads.h"
#include "worker/model/modules.h"
#include "worker/model/zoo.h"

namespace freezepipe::worker {
namespace {

/// Convolution, batch-norm, ReLU, and pooling if asked for.
class ConvUnit : public Layer {
 public:
  ConvUnit(WeightInit& init, int64_t inputs, int64_t outputs, bool bias, bool pool)
      : conv_(register_module("conv", std::make_shared<Conv2d>(init, inputs, outputs,
                                                               Conv2d::Options{.bias = bias}))),
        bn_(register_module("bn", std::make_shared<BatchNorm>(outputs))),
        pool_(pool) {}

  at::Tensor Forward(const at::Tensor& input, const ForwardContext& context) override {
    at::Tensor output = bn_->Forward(conv_->Forward(input), context);
    at::relu_(output);
    return pool_ ? at::max_pool2d(output, 2) : output;
  }

 private:
  std::shared_ptr<Conv2d> conv_;
  std::shared_ptr<BatchNorm> bn_;
  bool pool_;
};

/// Linear, ReLU, dropout; the first one pools images to 7x7.
class FullyConnected : public Layer {
 public:
  FullyConnected(WeightInit& init, int64_t inputs, int64_t outputs, double dropout)
      : linear_(register_module("linear", std::make_shared<Linear>(init, inputs, outputs))),
        dropout_(dropout) {}

  at::Tensor Forward(const at::Tensor& input, const ForwardContext& context) override {
    const bool image = input.dim() == 4;
    at::Tensor output = linear_->Forward(
        image ? at::adaptive_avg_pool2d(input, {kPooled, kPooled}).flatten(1) : input);
    at::relu_(output);
    return dropout_ > 0 ? at::dropout(output, dropout_, context.training) : output;
  }

  static constexpr int64_t kPooled = 7;

 private:
  std::shared_ptr<Linear> linear_;
  double dropout_;
};

struct ConvPlan {
  int64_t channels;
  bool pool = false;
};

std::vector<ConvPlan> Convolutions(v1alpha1::ZooModel::Name name) {
  if (name == v1alpha1::ZooModel::vgg11_bn) {
    return {{64, true}, {128, true}, {256}, {256, true}, {512}, {512, true}, {512}, {512, true}};
  }
  return {{64},  {64, true}, {128},       {128, true}, {256}, {256},      {256, true},
          {512}, {512},      {512, true}, {512},       {512}, {512, true}};
}

/// Small images: an extent that has become small and odd is no longer halved, which would throw
/// much of it away.
bool Halves(int64_t extent) { return extent % 2 == 0 || extent > 4; }

}  // namespace

std::vector<LayerRecipe> VggLayers(v1alpha1::ZooModel::Name name, const ZooOptions& options) {
  std::vector<LayerRecipe> layers;
  int64_t inputs = options.shape.channels;
  int64_t height = options.shape.height, width = options.shape.width;
  for (const ConvPlan& plan : Convolutions(name)) {
    const int64_t outputs = ScaledWidth(plan.channels, options);
    const bool pool = plan.pool && Halves(height) && Halves(width);
    if (pool) height /= 2, width /= 2;
    layers.push_back({"conv" + std::to_string(layers.size() + 1),
                      [inputs, outputs, bias = options.imagenet_stem, pool](WeightInit& init) {
                        return std::make_shared<ConvUnit>(init, inputs, outputs, bias, pool);
                      }});
    inputs = outputs;
  }
  if (!options.imagenet_stem) {
    layers.push_back(PoolingHead(inputs, options));
    return layers;
  }
  inputs *= FullyConnected::kPooled * FullyConnected::kPooled;
  for (const char* fc : {"fc1", "fc2"}) {
    const int64_t outputs = ScaledWidth(4096, options);
    layers.push_back({fc, [inputs, outputs, dropout = options.dropout](WeightInit& init) {
                        return std::make_shared<FullyConnected>(init, inputs, outputs, dropout);
                      }});
    inputs = outputs;
  }
  layers.push_back(LinearHead(inputs, options.shape.classes));
  return layers;
}

}  // namespace freezepipe::worker
