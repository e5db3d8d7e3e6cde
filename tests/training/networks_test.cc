// Residual networks and transformers, also in bfloat16: two stages, with layers frozen on the way,
// end where one stage ends, bit for bit.
#include <gtest/gtest.h>

#include "tests/training/job_run.h"
#include "worker/data/test_files.h"

namespace freezepipe::training {
namespace {

using v1alpha1::Precision;
using v1alpha1::Stem;
using v1alpha1::ZooModel;

struct Network {
  ZooModel::Name name;
  Stem::Type stem;
  double width;
  Precision::Type precision;
};

class Networks : public testing::TestWithParam<Network> {
 protected:
  worker::TestFolder folder_;
};

TEST_P(Networks, TwoStagesEqualOneWithLayersFrozenOnTheWay) {
  const auto [name, stem, width, precision] = GetParam();
  auto spec = SmallJob(folder_.path() / "data", /*samples=*/36);
  auto& zoo = *spec.mutable_model()->mutable_zoo();
  zoo.set_name(name);
  zoo.set_stem(stem);
  zoo.set_width_multiplier(width);
  spec.mutable_training()->set_epochs(3);
  spec.mutable_training()->set_precision(precision);
  spec.mutable_freeze()->set_policy(v1alpha1::FreezePolicy::Manual);
  auto& entry = *spec.mutable_freeze()->add_manual();
  entry.set_chosen_at(2);
  entry.set_frozen_at(3);
  entry.set_boundary(2);
  const auto one = RunJob(folder_.path() / "one", spec);
  ASSERT_EQ(one.exit_code, 0) << one.output;
  ASSERT_EQ(one.losses.size(), 6u);
  EXPECT_EQ(one.summary.freeze_log_size(), 1);
  spec.mutable_worker()->set_count(2);
  const auto two = RunJob(folder_.path() / "two", spec);
  ASSERT_EQ(two.exit_code, 0) << two.output;
  ExpectSameLosses(two.losses, one.losses);
  ExpectSameWeights(two.weights, one.weights);
}

INSTANTIATE_TEST_SUITE_P(
    All, Networks,
    testing::Values(Network{ZooModel::resnet18, Stem::ImageNet, 0.125, Precision::Float32},
                    Network{ZooModel::resnet18, Stem::Cifar, 0.125, Precision::BFloat16},
                    Network{ZooModel::resnet50, Stem::ImageNet, 0.125, Precision::Float32},
                    Network{ZooModel::vit_tiny, Stem::Cifar, 0.25, Precision::Float32},
                    Network{ZooModel::vit_tiny, Stem::Cifar, 0.25, Precision::BFloat16}),
    [](const auto& info) {
      return ZooModel::Name_Name(info.param.name) + Stem::Type_Name(info.param.stem) +
             Precision::Type_Name(info.param.precision);
    });

}  // namespace
}  // namespace freezepipe::training
