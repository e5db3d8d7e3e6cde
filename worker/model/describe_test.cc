#include "worker/model/describe.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/checkpoint/layer_state.h"
#include "worker/data/test_files.h"

namespace freezepipe::worker {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;
using v1alpha1::FreezePipeJobSpec;
using v1alpha1::JobDescription;

class DescribeTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteCifar10(folder_.path(), 11);
    spec_.mutable_model()->mutable_zoo()->set_name(v1alpha1::ZooModel::vgg11_bn);
    spec_.mutable_model()->mutable_zoo()->set_width_multiplier(0.25);
    spec_.mutable_dataset()->set_format(v1alpha1::DatasetFormat::Cifar10);
    spec_.mutable_dataset()->set_path(folder_.path().string());
    spec_.mutable_training()->set_batch_size(10);
    spec_.mutable_training()->set_epochs(2);
  }

  std::vector<std::string> FaultPaths() const {
    const JobDescription description = Describe(spec_);
    std::vector<std::string> paths;
    for (const auto& fault : description.faults()) {
      EXPECT_FALSE(fault.message().empty());
      paths.push_back(fault.path());
    }
    return paths;
  }

  TestFolder folder_;
  FreezePipeJobSpec spec_;
};

TEST_F(DescribeTest, LayersAndSizes) {
  const JobDescription description = Describe(spec_);
  EXPECT_THAT(description.faults(), IsEmpty());
  EXPECT_EQ(description.classes(), 10);
  EXPECT_EQ(description.train_samples(), 55);
  EXPECT_EQ(description.test_samples(), 11);
  EXPECT_EQ(description.steps_per_epoch(), 6);
  ASSERT_EQ(description.layers_size(), 9);
  EXPECT_EQ(description.layers(0).name(), "conv1");
  EXPECT_EQ(description.layers(0).parameters(), 3 * 16 * 9 + 2 * 16);
  EXPECT_THAT(description.layers(0).output_shape(), ElementsAre(16, 16, 16));
  EXPECT_EQ(description.layers(8).name(), "head");
  EXPECT_EQ(description.layers(8).parameters(), 128 * 10 + 10);
  EXPECT_THAT(description.layers(8).output_shape(), ElementsAre(10));
}

TEST_F(DescribeTest, DataFaults) {
  spec_.mutable_dataset()->set_path((folder_.path() / "nowhere").string());
  EXPECT_THAT(FaultPaths(), ElementsAre("spec.dataset.path"));
  spec_.mutable_dataset()->set_path(folder_.path().string());
  spec_.mutable_dataset()->add_classes(12);
  EXPECT_THAT(FaultPaths(), ElementsAre("spec.dataset.classes[0]"));
  spec_.mutable_dataset()->clear_classes();
  spec_.mutable_dataset()->add_mean(0.5);
  spec_.mutable_dataset()->add_std(0.5);
  EXPECT_THAT(FaultPaths(), ElementsAre("spec.dataset.mean"));
}

TEST_F(DescribeTest, AllFaultsAgainstTheLayerCountTogether) {
  spec_.mutable_pipeline()->set_stages(9);
  spec_.mutable_freeze()->set_max_frozen(8);
  spec_.mutable_freeze()->add_manual()->set_boundary(8);
  EXPECT_THAT(FaultPaths(), IsEmpty());
  spec_.mutable_pipeline()->set_stages(10);
  spec_.mutable_freeze()->set_max_frozen(9);
  spec_.mutable_freeze()->add_manual()->set_boundary(9);
  EXPECT_THAT(FaultPaths(), UnorderedElementsAre("spec.pipeline.stages", "spec.freeze.maxFrozen",
                                                 "spec.freeze.manual[1].boundary"));
}

TEST_F(DescribeTest, AManualFreezeHasToComeBeforeTheEnd) {
  auto* entry = spec_.mutable_freeze()->add_manual();
  entry->set_boundary(1);
  entry->set_frozen_at(11);
  EXPECT_THAT(FaultPaths(), IsEmpty()) << "the last of 12 steps";
  entry->set_frozen_at(12);
  EXPECT_THAT(FaultPaths(), ElementsAre("spec.freeze.manual[0].frozenAt"));
}

TEST_F(DescribeTest, StepsAreCountedIn32Bits) {
  WriteMnist(folder_.path(), 21'475, /*gzip=*/false);
  spec_.mutable_dataset()->set_format(v1alpha1::DatasetFormat::Mnist);
  spec_.mutable_training()->set_batch_size(1);
  spec_.mutable_training()->set_epochs(99'999);
  EXPECT_THAT(FaultPaths(), IsEmpty());
  spec_.mutable_training()->set_epochs(100'000);
  EXPECT_THAT(FaultPaths(), ElementsAre("spec.training.epochs"));
}

TEST_F(DescribeTest, WarnsOfALimitAboveWhatThereIs) {
  auto* limit = spec_.mutable_dataset()->mutable_limit();
  limit->set_train(55);
  limit->set_test(11);
  EXPECT_THAT(Describe(spec_).warnings(), IsEmpty());
  limit->set_train(56);
  const JobDescription description = Describe(spec_);
  EXPECT_THAT(description.faults(), IsEmpty());
  ASSERT_EQ(description.warnings_size(), 1);
  EXPECT_EQ(description.warnings(0).path(), "spec.dataset.limit.train");
  EXPECT_THAT(description.warnings(0).message(), AllOf(HasSubstr("56"), HasSubstr("55 samples")));
}

TEST_F(DescribeTest, ModelFaults) {
  spec_.mutable_model()->mutable_zoo()->set_name(v1alpha1::ZooModel::resnet20);
  spec_.mutable_model()->mutable_zoo()->set_stem(v1alpha1::Stem::ImageNet);
  spec_.mutable_pipeline()->set_stages(1000);
  EXPECT_THAT(FaultPaths(), ElementsAre("spec.model.zoo.stem"));
}

TEST_F(DescribeTest, InitialWeights) {
  constexpr char kPath[] = "spec.model.initialWeights.path";
  const std::string file = (folder_.path() / "weights.safetensors").string();
  spec_.mutable_model()->mutable_initial_weights()->set_path(file);
  EXPECT_THAT(FaultPaths(), ElementsAre(kPath)) << "a missing file is one fault";
  WriteSafetensors(file, {{"conv1.conv.weight", at::zeros({16, 3, 5, 5})}});
  const JobDescription description = Describe(spec_);
  ASSERT_GT(description.faults_size(), 1);
  EXPECT_EQ(description.faults(0).path(), kPath);
  EXPECT_THAT(description.faults(0).message(), HasSubstr("[16, 3, 5, 5]"));
  EXPECT_EQ(description.layers_size(), 9);
}

TEST_F(DescribeTest, IgnoringMismatchedWeightsSaysWhatIsLoadedAndNeedsOneThatFits) {
  const std::string file = (folder_.path() / "weights.safetensors").string();
  auto* weights = spec_.mutable_model()->mutable_initial_weights();
  weights->set_path(file);
  weights->set_ignore_mismatched(true);
  WriteSafetensors(file, {{"conv1.conv.weight", at::zeros({16, 3, 3, 3})},
                          {"conv1.bn.weight", at::zeros({17})}});
  const JobDescription description = Describe(spec_);
  EXPECT_THAT(description.faults(), IsEmpty());
  ASSERT_EQ(description.warnings_size(), 1);
  EXPECT_THAT(
      description.warnings(0).message(),
      AllOf(ContainsRegex(": 1 of the model's [0-9]+ tensors are loaded"),
            HasSubstr("\"conv1.bn.weight\" has shape [17]: expected [16]"),
            HasSubstr("\"head.linear.bias\" is absent"), Not(HasSubstr("conv1.conv.weight"))));

  WriteSafetensors(file, {{"features.0.weight", at::zeros({16, 3, 3, 3})}});
  EXPECT_THAT(FaultPaths(), ElementsAre("spec.model.initialWeights.path"));
}

}  // namespace
}  // namespace freezepipe::worker
