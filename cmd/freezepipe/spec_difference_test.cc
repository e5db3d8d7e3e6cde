#include "cmd/freezepipe/spec_difference.h"

#include <gtest/gtest.h>

#include "proto/defaults.h"

namespace freezepipe::cli {
namespace {

v1alpha1::FreezePipeJobSpec Spec() {
  v1alpha1::FreezePipeJobSpec spec;
  spec.mutable_model()->mutable_zoo()->set_name(v1alpha1::ZooModel::vgg11_bn);
  spec.mutable_dataset()->set_path("data");
  spec.mutable_training()->set_epochs(4);
  ApplyDefaults(&spec);
  return spec;
}

TEST(SpecDifferenceTest, WorkersStagesAndFreezingMayChange) {
  v1alpha1::FreezePipeJobSpec now = Spec();
  now.mutable_worker()->set_count(7);
  now.mutable_pipeline()->set_stages(3);
  now.mutable_pipeline()->set_replicas(2);
  now.mutable_checkpoint()->set_interval_steps(5);
  now.mutable_freeze()->set_policy(v1alpha1::FreezePolicy::None);
  EXPECT_EQ(WhyNotResumable(Spec(), now), std::nullopt);
}

TEST(SpecDifferenceTest, NamesTheFieldAndBothValues) {
  v1alpha1::FreezePipeJobSpec now = Spec();
  now.mutable_training()->mutable_optimizer()->set_learning_rate(0.5);
  EXPECT_EQ(WhyNotResumable(Spec(), now),
            "spec.training.optimizer.learningRate changed from 0.05 to 0.5");
}

TEST(SpecDifferenceTest, NamesEnumsByName) {
  v1alpha1::FreezePipeJobSpec now = Spec();
  now.mutable_model()->mutable_zoo()->set_name(v1alpha1::ZooModel::resnet18);
  EXPECT_EQ(WhyNotResumable(Spec(), now), "spec.model.zoo.name changed from vgg11_bn to resnet18");
}

TEST(SpecDifferenceTest, SaysWhatIsNewOrGone) {
  v1alpha1::FreezePipeJobSpec now = Spec();
  now.mutable_dataset()->add_classes(3);
  EXPECT_EQ(WhyNotResumable(Spec(), now), "spec.dataset.classes[0] changed from nothing to 3");
  EXPECT_EQ(WhyNotResumable(now, Spec()), "spec.dataset.classes[0] changed from 3 to nothing");
}

TEST(SpecDifferenceTest, MicroBatchesAreFixed) {
  v1alpha1::FreezePipeJobSpec now = Spec();
  now.mutable_pipeline()->set_micro_batches(8);
  EXPECT_EQ(WhyNotResumable(Spec(), now), "spec.pipeline.microBatches changed from 4 to 8");
}

}  // namespace
}  // namespace freezepipe::cli
