#include "worker/pipeline/owned_layer.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "proto/defaults.h"
#include "worker/data/test_files.h"

namespace freezepipe::worker {
namespace {

class OwnedLayerTest : public testing::TestWithParam<v1alpha1::Optimizer::Type> {
 protected:
  OwnedLayerTest() {
    WriteMnist(folder_.path(), 40, /*gzip=*/false);
    v1alpha1::FreezePipeJobSpec spec;
    spec.mutable_model()->mutable_zoo()->set_name(v1alpha1::ZooModel::vgg11_bn);
    spec.mutable_model()->mutable_zoo()->set_width_multiplier(0.0625);
    spec.mutable_dataset()->set_format(v1alpha1::DatasetFormat::Mnist);
    spec.mutable_dataset()->set_path(folder_.path().string());
    spec.mutable_training()->set_epochs(1);
    ApplyDefaults(&spec);
    spec.mutable_training()->mutable_optimizer()->set_type(GetParam());
    spec.mutable_training()->mutable_optimizer()->set_weight_decay(0.01);
    job_.emplace(spec, at::kCPU);
  }

  /// One update with a made-up gradient.
  static void Train(OwnedLayer& layer, double gradient) {
    for (const auto& parameter : layer.parameters()) {
      parameter.mutable_grad() = at::ones_like(parameter) * gradient;
    }
    layer.Update(0.1);
    if (layer.statistics() != nullptr) layer.statistics()->EndWindow();
  }

  TestFolder folder_;
  std::optional<JobContext> job_;
};

TEST_P(OwnedLayerTest, GoesOnFromItsStateAsIfItHadNeverMoved) {
  OwnedLayer stays(*job_, 1, nullptr);
  Train(stays, 0.5);
  Train(stays, -0.25);
  const LayerState state = Decode(Encode(stays.Save(2)));
  EXPECT_EQ(state.step, 2);
  OwnedLayer moved(*job_, 1, &state);
  EXPECT_EQ(Hash(moved.Save(2)), Hash(stays.Save(2)));
  for (OwnedLayer* layer : {&stays, &moved}) Train(*layer, 1.5);
  EXPECT_EQ(Hash(moved.Save(3)), Hash(stays.Save(3)));
}

TEST_P(OwnedLayerTest, AFrozenLayerIsLeftAlone) {
  OwnedLayer layer(*job_, 1, nullptr);
  Train(layer, 0.5);
  layer.Freeze();
  const auto before = layer.Save(1);
  for (const auto& [name, tensor] : before.tensors) {
    EXPECT_EQ(name.find('/'), std::string::npos) << name << " is kept for a frozen layer";
  }
  layer.Update(0.1);
  EXPECT_EQ(Hash(layer.Save(1)), Hash(before));
  for (const auto& parameter : layer.parameters()) EXPECT_FALSE(parameter.requires_grad());
}

TEST_P(OwnedLayerTest, RefusesAnotherLayersState) {
  const auto state = OwnedLayer(*job_, 2, nullptr).Save(0);
  EXPECT_THROW(OwnedLayer(*job_, 1, &state), std::runtime_error);
  auto lacking = OwnedLayer(*job_, 1, nullptr).Save(0);
  lacking.tensors.pop_back();
  EXPECT_THROW(OwnedLayer(*job_, 1, &lacking), std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OwnedLayerTest,
                         testing::Values(v1alpha1::Optimizer::SGD, v1alpha1::Optimizer::AdamW),
                         [](const auto& info) {
                           return v1alpha1::Optimizer::Type_Name(info.param);
                         });

}  // namespace
}  // namespace freezepipe::worker
