#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "worker/model/modules.h"
#include "worker/model/spec_error.h"
#include "worker/model/zoo.h"

namespace freezepipe::worker {
namespace {

constexpr int kDepth = 12;
constexpr int64_t kHeadWidth = 64;
constexpr int64_t kMlpRatio = 4;
constexpr int64_t kSmallPatch = 4, kLargePatch = 16;
/// Deviations of initial weights; cutting the normal distribution off at +-2, as timm does, changes
/// nothing here.
constexpr double kWeightDeviation = 0.02, kClassTokenDeviation = 1e-6;

/// Image to tokens [n, 1 + patches, width]: patches through a convolution, the class token before
/// them, and the position embedding added.
class Embedding : public Layer {
 public:
  Embedding(WeightInit& init, int64_t channels, int64_t patches, int64_t patch, int64_t width)
      : projection_(register_module(
            "projection",
            std::make_shared<Conv2d>(
                init, channels, width,
                Conv2d::Options{.kernel = patch, .stride = patch, .padding = 0, .bias = true}))),
        class_token_(
            register_parameter("class_token", init.Normal({1, 1, width}, kClassTokenDeviation))),
        position_(register_parameter("position",
                                     init.Normal({1, 1 + patches, width}, kWeightDeviation))) {}

  at::Tensor Forward(const at::Tensor& input, const ForwardContext& context) override {
    const at::Tensor patches = projection_->Forward(input).flatten(2).transpose(1, 2);
    return at::cat({class_token_.expand({input.size(0), -1, -1}), patches}, 1) + position_;
  }

 private:
  std::shared_ptr<Conv2d> projection_;
  at::Tensor class_token_, position_;
};

/// Pre-norm transformer block: attention and perceptron, each added to its input.
class TransformerBlock : public Layer {
 public:
  TransformerBlock(WeightInit& init, int64_t width, double dropout)
      : norm1_(register_module("norm1", std::make_shared<LayerNorm>(width))),
        qkv_(Add(init, "qkv", width, 3 * width)),
        proj_(Add(init, "proj", width, width)),
        norm2_(register_module("norm2", std::make_shared<LayerNorm>(width))),
        fc1_(Add(init, "fc1", width, kMlpRatio * width)),
        fc2_(Add(init, "fc2", kMlpRatio * width, width)),
        dropout_(dropout) {}

  at::Tensor Forward(const at::Tensor& input, const ForwardContext& context) override {
    const at::Tensor attended = input + Drop(Attention(norm1_->Forward(input)), context);
    const at::Tensor hidden = at::gelu(fc1_->Forward(norm2_->Forward(attended)));
    return attended + Drop(fc2_->Forward(hidden), context);
  }

 private:
  std::shared_ptr<Linear> Add(WeightInit& init, const char* name, int64_t inputs, int64_t outputs) {
    return register_module(name, std::make_shared<Linear>(init, inputs, outputs, kWeightDeviation));
  }

  at::Tensor Attention(const at::Tensor& input) const {
    const int64_t samples = input.size(0), tokens = input.size(1), width = input.size(2);
    // [q/k/v, sample, head, token, feature]
    const at::Tensor qkv = qkv_->Forward(input)
                               .view({samples, tokens, 3, width / kHeadWidth, kHeadWidth})
                               .permute({2, 0, 3, 1, 4});
    const at::Tensor heads = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
    return proj_->Forward(heads.transpose(1, 2).reshape({samples, tokens, width}));
  }

  at::Tensor Drop(const at::Tensor& input, const ForwardContext& context) const {
    return dropout_ > 0 ? at::dropout(input, dropout_, context.training) : input;
  }

  std::shared_ptr<LayerNorm> norm1_;
  std::shared_ptr<Linear> qkv_, proj_;
  std::shared_ptr<LayerNorm> norm2_;
  std::shared_ptr<Linear> fc1_, fc2_;
  double dropout_;
};

/// Norm and linear of the class token.
class TokenHead : public Layer {
 public:
  TokenHead(WeightInit& init, int64_t width, int64_t classes)
      : norm_(register_module("norm", std::make_shared<LayerNorm>(width))),
        linear_(register_module(
            "linear", std::make_shared<Linear>(init, width, classes, kWeightDeviation))) {}

  at::Tensor Forward(const at::Tensor& input, const ForwardContext& context) override {
    return linear_->Forward(norm_->Forward(input.select(1, 0)));
  }

 private:
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> linear_;
};

int Heads(v1alpha1::ZooModel::Name name) {
  switch (name) {
    case v1alpha1::ZooModel::vit_tiny:
      return 3;
    case v1alpha1::ZooModel::vit_small:
      return 6;
    default:
      return 12;
  }
}

}  // namespace

std::vector<LayerRecipe> VitLayers(v1alpha1::ZooModel::Name name, const ZooOptions& options) {
  const SampleShape& shape = options.shape;
  const int64_t patch = options.imagenet_stem ? kLargePatch : kSmallPatch;
  if (shape.height % patch != 0 || shape.width % patch != 0) {
    throw SpecError("spec.model.zoo.stem", "images of " + std::to_string(shape.height) + " x " +
                                               std::to_string(shape.width) +
                                               " pixels cannot be cut into patches of " +
                                               std::to_string(patch));
  }
  // Whole heads, so that a width multiplier leaves their width as it is.
  const int64_t width = ScaledWidth(Heads(name), options) * kHeadWidth;
  const int64_t patches = (shape.height / patch) * (shape.width / patch);
  std::vector<LayerRecipe> layers = {
      {"embedding", [channels = shape.channels, patches, patch, width](WeightInit& init) {
         return std::make_shared<Embedding>(init, channels, patches, patch, width);
       }}};
  for (int block = 1; block <= kDepth; ++block) {
    layers.push_back(
        {"block" + std::to_string(block), [width, dropout = options.dropout](WeightInit& init) {
           return std::make_shared<TransformerBlock>(init, width, dropout);
         }});
  }
  layers.push_back({"head", [width, classes = shape.classes](WeightInit& init) {
                      return std::make_shared<TokenHead>(init, width, classes);
                    }});
  return layers;
}

}  // namespace freezepipe::worker
