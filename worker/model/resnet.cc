#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include "worker/model/batch_norm.h"
#include "worker/model/heads.h"
#include "worker/model/modules.h"
#include "worker/model/zoo.h"

namespace freezepipe::worker {
namespace {

/// First convolution, batch-norm, ReLU: 3x3, or for large images 7x7 by steps of 2 and pooling.
class StemUnit : public Layer {
 public:
  StemUnit(WeightInit& init, int64_t inputs, int64_t outputs, bool imagenet)
      : conv_(register_module("conv",
                              std::make_shared<Conv2d>(
                                  init, inputs, outputs,
                                  imagenet ? Conv2d::Options{.kernel = 7, .stride = 2, .padding = 3}
                                           : Conv2d::Options{}))),
        bn_(register_module("bn", std::make_shared<BatchNorm>(outputs))),
        pool_(imagenet) {}

  at::Tensor Forward(const at::Tensor& input, const ForwardContext& context) override {
    at::Tensor output = bn_->Forward(conv_->Forward(input), context);
    at::relu_(output);
    return pool_ ? at::max_pool2d(output, 3, 2, 1) : output;
  }

 private:
  std::shared_ptr<Conv2d> conv_;
  std::shared_ptr<BatchNorm> bn_;
  bool pool_;
};

/// A residual block: convolutions with batch-norm and ReLU between, added to the input, or to a 1x1
/// convolution of it where the shape changes; ReLU.
class ResidualBlock : public Layer {
 public:
  struct Shape {
    int64_t inputs = 0;
    /// Channels of the 3x3 convolutions.
    int64_t width = 0;
    int64_t outputs = 0;
    int64_t stride = 1;
    /// 1x1, 3x3, 1x1 instead of 3x3, 3x3.
    bool bottleneck = false;
  };

  ResidualBlock(WeightInit& init, const Shape& shape) {
    constexpr Conv2d::Options kPointwise{.kernel = 1, .padding = 0};
    if (shape.bottleneck) {
      Add(init, shape.inputs, shape.width, kPointwise);
      Add(init, shape.width, shape.width, {.stride = shape.stride});
      Add(init, shape.width, shape.outputs, kPointwise);
    } else {
      Add(init, shape.inputs, shape.width, {.stride = shape.stride});
      Add(init, shape.width, shape.outputs, {});
    }
    if (shape.stride != 1 || shape.inputs != shape.outputs) {
      shortcut_conv_ = register_module(
          "shortcut_conv", std::make_shared<Conv2d>(
                               init, shape.inputs, shape.outputs,
                               Conv2d::Options{.kernel = 1, .stride = shape.stride, .padding = 0}));
      shortcut_bn_ = register_module("shortcut_bn", std::make_shared<BatchNorm>(shape.outputs));
    }
  }

  at::Tensor Forward(const at::Tensor& input, const ForwardContext& context) override {
    at::Tensor output = input;
    for (size_t i = 0; i < convs_.size(); ++i) {
      output = bns_[i]->Forward(convs_[i]->Forward(output), context);
      if (i + 1 < convs_.size()) at::relu_(output);
    }
    output.add_(shortcut_conv_ ? shortcut_bn_->Forward(shortcut_conv_->Forward(input), context)
                               : input);
    return at::relu_(output);
  }

 private:
  void Add(WeightInit& init, int64_t inputs, int64_t outputs, Conv2d::Options options) {
    const std::string number = std::to_string(convs_.size() + 1);
    convs_.push_back(
        register_module("conv" + number, std::make_shared<Conv2d>(init, inputs, outputs, options)));
    bns_.push_back(register_module("bn" + number, std::make_shared<BatchNorm>(outputs)));
  }

  std::vector<std::shared_ptr<Conv2d>> convs_;
  std::vector<std::shared_ptr<BatchNorm>> bns_;
  std::shared_ptr<Conv2d> shortcut_conv_;
  std::shared_ptr<BatchNorm> shortcut_bn_;
};

struct ResNetPlan {
  /// Blocks of each stage; a stage halves the image and doubles the channels, but for the first.
  std::vector<int> blocks;
  int64_t width = 64;
  bool bottleneck = false;
};

ResNetPlan PlanOf(v1alpha1::ZooModel::Name name) {
  switch (name) {
    case v1alpha1::ZooModel::resnet18:
      return {.blocks = {2, 2, 2, 2}};
    case v1alpha1::ZooModel::resnet34:
      return {.blocks = {3, 4, 6, 3}};
    case v1alpha1::ZooModel::resnet50:
      return {.blocks = {3, 4, 6, 3}, .bottleneck = true};
    case v1alpha1::ZooModel::resnet20:
      return {.blocks = {3, 3, 3}, .width = 16};
    default:
      return {.blocks = {9, 9, 9}, .width = 16};
  }
}

}  // namespace

std::vector<LayerRecipe> ResNetLayers(v1alpha1::ZooModel::Name name, const ZooOptions& options) {
  constexpr int64_t kBottleneckExpansion = 4;
  const ResNetPlan plan = PlanOf(name);
  int64_t inputs = ScaledWidth(plan.width, options);
  std::vector<LayerRecipe> layers = {{"stem", [channels = options.shape.channels, inputs,
                                               imagenet = options.imagenet_stem](WeightInit& init) {
                                        return std::make_shared<StemUnit>(init, channels, inputs,
                                                                          imagenet);
                                      }}};
  for (size_t stage = 0; stage < plan.blocks.size(); ++stage) {
    const int64_t width = ScaledWidth(plan.width << stage, options);
    for (int block = 0; block < plan.blocks[stage]; ++block) {
      const ResidualBlock::Shape shape{
          .inputs = inputs,
          .width = width,
          .outputs = plan.bottleneck ? width * kBottleneckExpansion : width,
          .stride = stage > 0 && block == 0 ? 2 : 1,
          .bottleneck = plan.bottleneck};
      layers.push_back(
          {"block" + std::to_string(stage + 1) + "." + std::to_string(block + 1),
           [shape](WeightInit& init) { return std::make_shared<ResidualBlock>(init, shape); }});
      inputs = shape.outputs;
    }
  }
  layers.push_back(PoolingHead(inputs, options));
  return layers;
}

}  // namespace freezepipe::worker
