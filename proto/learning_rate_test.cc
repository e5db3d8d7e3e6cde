#include "proto/learning_rate.h"

#include <gtest/gtest.h>

#include "proto/defaults.h"

namespace freezepipe {
namespace {

v1alpha1::TrainingSpec Training(v1alpha1::LearningRateSchedule::Type type) {
  v1alpha1::TrainingSpec training;
  ApplyDefaults(&training);
  training.mutable_optimizer()->set_learning_rate(0.2);
  training.mutable_learning_rate_schedule()->set_type(type);
  return training;
}

TEST(LearningRate, CosineFallsFromThePeakTowardsZero) {
  const auto training = Training(v1alpha1::LearningRateSchedule::Cosine);
  EXPECT_DOUBLE_EQ(LearningRateAt(training, 0, 100), 0.2);
  EXPECT_NEAR(LearningRateAt(training, 50, 100), 0.1, 1e-15);
  EXPECT_NEAR(LearningRateAt(training, 99, 100), 0.2 * 0.000246719, 1e-9);
}

TEST(LearningRate, WarmupGrowsLinearlyAndComesBeforeTheSchedule) {
  auto training = Training(v1alpha1::LearningRateSchedule::Cosine);
  training.mutable_learning_rate_schedule()->set_warmup_steps(4);
  EXPECT_DOUBLE_EQ(LearningRateAt(training, 0, 100), 0.05);
  EXPECT_DOUBLE_EQ(LearningRateAt(training, 3, 100), 0.2);
  EXPECT_DOUBLE_EQ(LearningRateAt(training, 4, 100), 0.2);
  EXPECT_NEAR(LearningRateAt(training, 52, 100), 0.1, 1e-15);
}

TEST(LearningRate, StepDropsByGamma) {
  auto training = Training(v1alpha1::LearningRateSchedule::Step);
  training.mutable_learning_rate_schedule()->set_step_size(10);
  training.mutable_learning_rate_schedule()->set_gamma(0.5);
  EXPECT_DOUBLE_EQ(LearningRateAt(training, 9, 100), 0.2);
  EXPECT_DOUBLE_EQ(LearningRateAt(training, 10, 100), 0.1);
  EXPECT_DOUBLE_EQ(LearningRateAt(training, 25, 100), 0.05);
}

TEST(LearningRate, ConstantStays) {
  EXPECT_DOUBLE_EQ(LearningRateAt(Training(v1alpha1::LearningRateSchedule::Constant), 77, 100),
                   0.2);
}

}  // namespace
}  // namespace freezepipe
