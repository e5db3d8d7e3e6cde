#include "worker/checkpoint/initial_weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "worker/checkpoint/layer_state.h"
#include "worker/data/test_files.h"
#include "worker/model/layer_tensors.h"

namespace freezepipe::worker {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Model> MakeVgg(int classes) {
  v1alpha1::ModelSpec spec;
  spec.mutable_zoo()->set_name(v1alpha1::ZooModel::vgg11_bn);
  spec.mutable_zoo()->set_width_multiplier(0.1);
  return MakeModel(spec, {.channels = 3, .height = 32, .width = 32, .classes = classes});
}

/// A file of all layers of a model of ten classes, made with seed 1, and its buffers changed.
class InitialWeightsTest : public testing::Test {
 protected:
  void SetUp() override {
    const at::NoGradGuard no_grad;
    std::vector<std::pair<std::string, at::Tensor>> tensors;
    for (int i = 0; i < model_->size(); ++i) {
      const auto layer = model_->MakeLayer(i, 1);
      for (at::Tensor& buffer : layer->buffers()) buffer.add_(3);
      for (const auto& [name, tensor] : LayerTensors(*layer)) {
        tensors.emplace_back(ExportName(*model_, i, name), tensor);
      }
      sources_.push_back(layer);
    }
    spec_.set_path((folder_.path() / "weights.safetensors").string());
    WriteSafetensors(spec_.path(), tensors);
  }

  std::string ErrorOf(const Model& model, int index) {
    const auto layer = model.MakeLayer(index, 2);
    try {
      LoadInitialWeights(spec_, model, index, *layer);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  TestFolder folder_;
  std::unique_ptr<Model> model_ = MakeVgg(10);
  std::vector<std::shared_ptr<Layer>> sources_;
  v1alpha1::InitialWeightsSpec spec_;
};

TEST_F(InitialWeightsTest, LoadsParametersAndBuffers) {
  for (int i = 0; i < model_->size(); ++i) {
    const auto layer = model_->MakeLayer(i, 2);
    LoadInitialWeights(spec_, *model_, i, *layer);
    const auto loaded = LayerTensors(*layer), expected = LayerTensors(*sources_[i]);
    const WeightsFit fit = CheckInitialWeights(spec_, *model_, i, *layer);
    EXPECT_EQ(fit.fitting, static_cast<int>(expected.size()));
    EXPECT_TRUE(fit.mismatches.empty());
    for (size_t t = 0; t < loaded.size(); ++t) {
      EXPECT_TRUE(at::equal(loaded[t].second, expected[t].second)) << loaded[t].first;
    }
    for (const at::Tensor& parameter : layer->parameters()) EXPECT_TRUE(parameter.requires_grad());
  }
}

TEST_F(InitialWeightsTest, LoadsIntoFloat64) {
  const auto layer = model_->MakeLayer(0, 2);
  layer->to(at::kDouble);
  LoadInitialWeights(spec_, *model_, 0, *layer);
  EXPECT_TRUE(at::equal(layer->parameters()[0], sources_[0]->parameters()[0].to(at::kDouble)));
}

TEST_F(InitialWeightsTest, MismatchNamesTensorAndBothShapes) {
  const auto other = MakeVgg(7);
  const int head = other->size() - 1;
  EXPECT_THAT(ErrorOf(*other, head), AllOf(HasSubstr(spec_.path()), HasSubstr("head.linear.weight"),
                                           HasSubstr("[10, 51]"), HasSubstr("[7, 51]")));
  const WeightsFit fit = CheckInitialWeights(spec_, *other, head, *other->MakeLayer(head, 2));
  EXPECT_EQ(fit.fitting, 0);
  EXPECT_THAT(fit.mismatches,
              ElementsAre(HasSubstr("head.linear.weight"), HasSubstr("head.linear.bias")));
  EXPECT_EQ(ErrorOf(*other, 0), "");
}

TEST_F(InitialWeightsTest, IgnoringMismatchesKeepsTheRandomHead) {
  spec_.set_ignore_mismatched(true);
  const auto other = MakeVgg(7);
  const int head = other->size() - 1;
  const auto layer = other->MakeLayer(head, 2), untouched = other->MakeLayer(head, 2);
  LoadInitialWeights(spec_, *other, head, *layer);
  EXPECT_TRUE(at::equal(layer->parameters()[0], untouched->parameters()[0]));
}

TEST_F(InitialWeightsTest, AbsentTensorAndMissingFile) {
  WriteSafetensors(spec_.path(), {{"conv1.conv.weight", sources_[0]->parameters()[0]}});
  EXPECT_THAT(ErrorOf(*model_, 0), AllOf(HasSubstr("conv1.bn.weight"), HasSubstr("absent")));
  spec_.set_path((folder_.path() / "none").string());
  spec_.set_ignore_mismatched(true);
  EXPECT_THAT(ErrorOf(*model_, 0), AllOf(HasSubstr(spec_.path()), HasSubstr("missing")));
}

}  // namespace
}  // namespace freezepipe::worker
