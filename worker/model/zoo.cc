#include "worker/model/zoo.h"

#include <algorithm>
#include <cmath>

#include "worker/model/spec_error.h"

namespace freezepipe::worker {
namespace {

using v1alpha1::Stem;
using Zoo = v1alpha1::ZooModel;

constexpr int64_t kLargestCifarExtent = 64;

class RecipeModel : public Model {
 public:
  RecipeModel(std::vector<LayerRecipe> layers, bool convolutional)
      : layers_(std::move(layers)), convolutional_(convolutional) {}

  int size() const override { return static_cast<int>(layers_.size()); }
  const std::string& name(int layer) const override { return layers_.at(layer).name; }
  std::shared_ptr<Layer> MakeLayer(int layer, uint64_t seed) const override {
    WeightInit init(seed, layer);
    return layers_.at(layer).make(init);
  }
  bool convolutional() const override { return convolutional_; }

 private:
  std::vector<LayerRecipe> layers_;
  bool convolutional_;
};

/// Networks whose layers hand images on.
bool Convolutional(Zoo::Name name) {
  return name != Zoo::mlp && name != Zoo::vit_tiny && name != Zoo::vit_small &&
         name != Zoo::vit_base;
}

bool ImageNetStem(const v1alpha1::ZooSpec& zoo, const SampleShape& shape) {
  const bool cifar_only = zoo.name() == Zoo::resnet20 || zoo.name() == Zoo::resnet56;
  if (cifar_only && zoo.stem() == Stem::ImageNet) {
    throw SpecError("spec.model.zoo.stem",
                    Zoo::Name_Name(zoo.name()) + " has only the stem Cifar (or Auto)");
  }
  if (cifar_only || zoo.stem() == Stem::Cifar) return false;
  return zoo.stem() == Stem::ImageNet || std::max(shape.height, shape.width) > kLargestCifarExtent;
}

std::vector<LayerRecipe> Layers(const v1alpha1::ZooSpec& zoo, const ZooOptions& options) {
  switch (zoo.name()) {
    case Zoo::mlp: {
      std::vector<int64_t> sizes(zoo.hidden_sizes().begin(), zoo.hidden_sizes().end());
      if (sizes.empty()) sizes = {512, 256};
      return MlpLayers(sizes, options);
    }
    case Zoo::vgg11_bn:
    case Zoo::vgg16_bn:
      return VggLayers(zoo.name(), options);
    case Zoo::resnet18:
    case Zoo::resnet34:
    case Zoo::resnet50:
    case Zoo::resnet20:
    case Zoo::resnet56:
      return ResNetLayers(zoo.name(), options);
    case Zoo::vit_tiny:
    case Zoo::vit_small:
    case Zoo::vit_base:
      return VitLayers(zoo.name(), options);
    default:
      throw SpecError("spec.model.zoo.name", "no network number " + std::to_string(zoo.name()));
  }
}

}  // namespace

int64_t ScaledWidth(int64_t channels, const ZooOptions& options) {
  return std::max<int64_t>(1,
                           std::llround(static_cast<double>(channels) * options.width_multiplier));
}

std::unique_ptr<Model> MakeModel(const v1alpha1::ModelSpec& spec, const SampleShape& shape) {
  const v1alpha1::ZooSpec& zoo = spec.zoo();
  const ZooOptions options{
      .shape = shape,
      .width_multiplier = zoo.has_width_multiplier() ? zoo.width_multiplier() : 1.0,
      .imagenet_stem = ImageNetStem(zoo, shape),
      .dropout = zoo.dropout()};
  return std::make_unique<RecipeModel>(Layers(zoo, options), Convolutional(zoo.name()));
}

}  // namespace freezepipe::worker
