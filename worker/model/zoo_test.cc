#include "worker/model/zoo.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "worker/model/batch_norm.h"
#include "worker/model/layer_tensors.h"
#include "worker/model/spec_error.h"

namespace freezepipe::worker {
namespace {

using v1alpha1::ModelSpec;
using v1alpha1::Stem;
using v1alpha1::ZooModel;

constexpr SampleShape kCifar{.channels = 3, .height = 32, .width = 32, .classes = 10};
constexpr SampleShape kMnist{.channels = 1, .height = 28, .width = 28, .classes = 10};
constexpr SampleShape kImageNet{.channels = 3, .height = 224, .width = 224, .classes = 1000};

ModelSpec Spec(ZooModel::Name name, double width = 1, double dropout = 0) {
  ModelSpec spec;
  spec.mutable_zoo()->set_name(name);
  spec.mutable_zoo()->set_width_multiplier(width);
  spec.mutable_zoo()->set_dropout(dropout);
  return spec;
}

at::Tensor Batch(const SampleShape& shape, int64_t size = 2, at::ScalarType type = at::kFloat) {
  return at::randn({size, shape.channels, shape.height, shape.width},
                   at::detail::createCPUGenerator(7), type);
}

std::vector<std::shared_ptr<Layer>> MakeLayers(const Model& model, uint64_t seed = 1) {
  std::vector<std::shared_ptr<Layer>> layers;
  for (int i = 0; i < model.size(); ++i) layers.push_back(model.MakeLayer(i, seed));
  return layers;
}

at::Tensor RunLayers(const std::vector<std::shared_ptr<Layer>>& layers, at::Tensor x,
                     const ForwardContext& context = {}) {
  for (const auto& layer : layers) x = layer->Forward(x, context);
  return x;
}

int64_t ParameterCount(const Model& model) {
  int64_t count = 0;
  for (int i = 0; i < model.size(); ++i) {
    for (const at::Tensor& parameter : model.MakeLayer(i, 1)->parameters()) {
      count += parameter.numel();
    }
  }
  return count;
}

class EveryNetwork : public testing::TestWithParam<int> {
 protected:
  ZooModel::Name name() const { return static_cast<ZooModel::Name>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Zoo, EveryNetwork,
                         testing::Range<int>(ZooModel::Name_MIN, ZooModel::Name_MAX + 1),
                         [](const auto& info) {
                           return ZooModel::Name_Name(static_cast<ZooModel::Name>(info.param));
                         });

TEST_P(EveryNetwork, TakesEveryImageSizeToItsClasses) {
  const at::NoGradGuard no_grad;
  for (const SampleShape& shape : {kCifar, kMnist, kImageNet}) {
    const auto model = MakeModel(Spec(name(), /*width=*/0.0625), shape);
    EXPECT_EQ(RunLayers(MakeLayers(*model), Batch(shape)).sizes(),
              at::IntArrayRef({2, shape.classes}));
  }
}

TEST_P(EveryNetwork, EveryParameterGetsAGradientAndTheInputToo) {
  const auto model = MakeModel(Spec(name(), 0.125, /*dropout=*/0.1), kCifar);
  const auto layers = MakeLayers(*model);
  const at::Tensor input = Batch(kCifar, 4).requires_grad_();
  RunLayers(layers, input).square().sum().backward();
  EXPECT_GT(input.grad().abs().sum().item<double>(), 0);
  for (int i = 0; i < model->size(); ++i) {
    for (const auto& item : layers[i]->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << ExportName(*model, i, item.key());
      EXPECT_TRUE(at::isfinite(item.value().grad()).all().item<bool>());
    }
  }
}

TEST_P(EveryNetwork, LayersDoNotChangeTheirInput) {
  const at::NoGradGuard no_grad;
  const auto model = MakeModel(Spec(name(), 0.125), kCifar);
  at::Tensor x = Batch(kCifar);
  for (const auto& layer : MakeLayers(*model)) {
    const at::Tensor before = x.clone();
    const at::Tensor output = layer->Forward(x, {});
    ASSERT_TRUE(at::equal(x, before));
    x = output;
  }
}

TEST_P(EveryNetwork, RunsInFloat64AndInBFloat16) {
  const at::NoGradGuard no_grad;
  const auto model = MakeModel(Spec(name(), 0.125), kCifar);
  const auto layers = MakeLayers(*model);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const at::Tensor half = RunLayers(layers, Batch(kCifar, 8));
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::clear_cache();
  const at::Tensor single = RunLayers(layers, Batch(kCifar, 8));
  for (const auto& layer : layers) layer->to(at::kDouble);
  const at::Tensor precise = RunLayers(layers, Batch(kCifar, 8).to(at::kDouble));
  EXPECT_EQ(half.scalar_type(), at::kBFloat16);
  EXPECT_EQ(precise.scalar_type(), at::kDouble);
  const double scale = precise.abs().max().item<double>();
  EXPECT_LT((single - precise).abs().max().item<double>(), 1e-3 * scale);
  EXPECT_LT((half - precise).abs().max().item<double>(), 0.3 * scale);
}

TEST_P(EveryNetwork, WeightsDependOnSeedAndLayerAlone) {
  const auto model = MakeModel(Spec(name(), 0.125), kCifar);
  const auto all = MakeLayers(*model, 1);
  const int last = model->size() - 1;
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  generator.set_current_seed(99);
  const at::Tensor before = generator.get_state();
  const auto alone = model->MakeLayer(last, 1);
  EXPECT_TRUE(at::equal(before, generator.get_state()));
  const auto other_seed = model->MakeLayer(last, 2);
  const auto weights = LayerTensors(*all[last]), again = LayerTensors(*alone),
             other = LayerTensors(*other_seed);
  bool seed_matters = false;
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_TRUE(at::equal(weights[i].second, again[i].second)) << weights[i].first;
    seed_matters |= !at::equal(weights[i].second, other[i].second);
  }
  EXPECT_TRUE(seed_matters);
}

TEST_P(EveryNetwork, NamesAreUnique) {
  const auto model = MakeModel(Spec(name(), 0.125), kCifar);
  std::set<std::string> names;
  for (int i = 0; i < model->size(); ++i) EXPECT_TRUE(names.insert(model->name(i)).second);
  EXPECT_EQ(model->name(model->size() - 1), "head");
}

struct Known {
  ZooModel::Name name;
  SampleShape shape;
  int layers;
  int64_t parameters;
};

/// Parameter counts that torchvision and timm give for the same networks; for CIFAR the ResNets'
/// published ones.
TEST(ZooTest, SizesAreThePublishedOnes) {
  const Known known[] = {{ZooModel::vgg11_bn, kImageNet, 11, 132868840},
                         {ZooModel::vgg16_bn, kImageNet, 16, 138365992},
                         {ZooModel::resnet18, kImageNet, 10, 11689512},
                         {ZooModel::resnet34, kImageNet, 18, 21797672},
                         {ZooModel::resnet50, kImageNet, 18, 25557032},
                         {ZooModel::resnet20, kCifar, 11, 272474},
                         {ZooModel::resnet56, kCifar, 29, 855770},
                         {ZooModel::vit_tiny, kImageNet, 14, 5717416},
                         {ZooModel::vit_small, kImageNet, 14, 22050664},
                         {ZooModel::vit_base, kImageNet, 14, 86567656}};
  for (const Known& one : known) {
    SCOPED_TRACE(ZooModel::Name_Name(one.name));
    const auto model = MakeModel(Spec(one.name), one.shape);
    EXPECT_EQ(model->size(), one.layers);
    EXPECT_EQ(ParameterCount(*model), one.parameters);
  }
}

TEST(ZooTest, SmallVggPoolsOnlyWhatCanBeHalved) {
  const at::NoGradGuard no_grad;
  const std::map<int, std::vector<int64_t>> extents = {{32, {16, 8, 8, 4, 4, 2, 2, 1}},
                                                       {28, {14, 7, 7, 3, 3, 3, 3, 3}}};
  for (const auto& [extent, expected] : extents) {
    SampleShape shape = kMnist;
    shape.height = shape.width = extent;
    const auto model = MakeModel(Spec(ZooModel::vgg11_bn, 0.25), shape);
    ASSERT_EQ(model->size(), 9);
    at::Tensor x = Batch(shape);
    for (int i = 0; i < 8; ++i) {
      x = model->MakeLayer(i, 1)->Forward(x, {});
      EXPECT_EQ(x.size(2), expected[i]) << extent << " after convolution " << i;
    }
    EXPECT_EQ(x.size(1), 128);
  }
}

TEST(ZooTest, TensorNamesAreStable) {
  const auto names = [](const Model& model, int layer) {
    std::vector<std::string> found;
    for (const auto& [name, tensor] : LayerTensors(*model.MakeLayer(layer, 1))) {
      found.push_back(ExportName(model, layer, name));
    }
    return found;
  };
  using testing::ElementsAre;
  EXPECT_THAT(names(*MakeModel(Spec(ZooModel::vgg11_bn, 0.1), kCifar), 0),
              ElementsAre("conv1.conv.weight", "conv1.bn.weight", "conv1.bn.bias",
                          "conv1.bn.running_mean", "conv1.bn.running_var"));
  EXPECT_THAT(names(*MakeModel(Spec(ZooModel::mlp, 0.1), kCifar), 2),
              ElementsAre("head.linear.weight", "head.linear.bias"));
  EXPECT_THAT(names(*MakeModel(Spec(ZooModel::resnet18, 0.1), kCifar), 3),
              testing::AllOf(testing::Contains("block2.1.conv1.weight"),
                             testing::Contains("block2.1.shortcut_bn.running_var")));
  EXPECT_THAT(names(*MakeModel(Spec(ZooModel::vit_tiny, 0.1), kCifar), 0),
              ElementsAre("embedding.class_token", "embedding.position",
                          "embedding.projection.weight", "embedding.projection.bias"));
}

TEST(ZooTest, DropoutIsOffOutsideTrainingAndFollowsTheDefaultGenerator) {
  const at::NoGradGuard no_grad;
  const auto layers = MakeLayers(*MakeModel(Spec(ZooModel::mlp, 1, 0.5), kMnist));
  const auto run = [&layers](bool training, uint64_t seed) {
    at::manual_seed(seed);
    return RunLayers(layers, Batch(kMnist), {.training = training});
  };
  EXPECT_TRUE(at::equal(run(false, 1), run(false, 2)));
  EXPECT_TRUE(at::equal(run(true, 1), run(true, 1)));
  EXPECT_FALSE(at::equal(run(true, 1), run(true, 2)));
}

TEST(ZooTest, FindsBatchNormsInOrder) {
  const auto model = MakeModel(Spec(ZooModel::resnet18, 0.125), kCifar);
  const auto layer = model->MakeLayer(3, 1);
  std::vector<int64_t> channels;
  for (const BatchNorm* norm : BatchNormsOf(*layer)) channels.push_back(norm->channels());
  EXPECT_EQ(channels.size(), 3);
  EXPECT_TRUE(BatchNormsOf(*model->MakeLayer(9, 1)).empty());
}

TEST(ZooTest, HiddenSizesAreTheManifests) {
  ModelSpec spec = Spec(ZooModel::mlp);
  for (const int size : {30, 20, 10}) spec.mutable_zoo()->add_hidden_sizes(size);
  const auto model = MakeModel(spec, kMnist);
  EXPECT_EQ(model->size(), 4);
  EXPECT_EQ(ParameterCount(*model), 785 * 30 + 31 * 20 + 21 * 10 + 11 * 10);
  EXPECT_FALSE(model->convolutional());
}

TEST(ZooTest, RefusesWhatCannotBe) {
  const auto path_of = [](const ModelSpec& spec, const SampleShape& shape) -> std::string {
    try {
      MakeModel(spec, shape);
    } catch (const SpecError& error) {
      return error.path();
    }
    return "";
  };
  ModelSpec spec = Spec(ZooModel::resnet20);
  spec.mutable_zoo()->set_stem(Stem::ImageNet);
  EXPECT_EQ(path_of(spec, kCifar), "spec.model.zoo.stem");
  spec = Spec(ZooModel::vit_tiny);
  spec.mutable_zoo()->set_stem(Stem::ImageNet);
  EXPECT_EQ(path_of(spec, kMnist), "spec.model.zoo.stem");
  spec.mutable_zoo()->set_stem(Stem::Cifar);
  EXPECT_EQ(path_of(spec, kMnist), "");
}

}  // namespace
}  // namespace freezepipe::worker
