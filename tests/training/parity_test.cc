// K stages = 1 stage = a plain LibTorch loop, bit for bit.
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "tests/training/job_run.h"
#include "tests/training/plain_loop.h"
#include "worker/data/test_files.h"

namespace freezepipe::training {
namespace {

using v1alpha1::Optimizer;
using v1alpha1::PipelineSchedule;

// 9 full batches of 18 (micro-batches of 5, 5, 4, 4) and one of 3 (one micro-batch is empty) an
// epoch: 20 steps.
constexpr int kSamples = 165;

class Parity : public testing::TestWithParam<std::tuple<PipelineSchedule::Type, Optimizer::Type>> {
 protected:
  worker::TestFolder folder_;
};

TEST_P(Parity, OneToFourStagesEqualThePlainLoop) {
  const auto [schedule, optimizer] = GetParam();
  auto spec = SmallJob(folder_.path() / "data", kSamples);
  spec.mutable_training()->mutable_optimizer()->set_type(optimizer);
  if (optimizer == Optimizer::AdamW) {
    spec.mutable_training()->mutable_optimizer()->set_learning_rate(0.002);
  }
  spec.mutable_pipeline()->set_schedule(schedule);
  const auto plain = TrainPlainly(spec);
  ASSERT_EQ(plain.losses.size(), 20u);
  for (int stages = 1; stages <= 4; ++stages) {
    SCOPED_TRACE(std::to_string(stages) + " stages");
    spec.mutable_worker()->set_count(stages);
    const auto run = RunJob(folder_.path() / std::to_string(stages), spec);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    ExpectSameLosses(run.losses, plain.losses);
    ExpectSameWeights(run.weights, plain.weights);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Parity,
                         testing::Combine(testing::Values(PipelineSchedule::GPipe,
                                                          PipelineSchedule::OneForwardOneBackward),
                                          testing::Values(Optimizer::SGD, Optimizer::AdamW)),
                         [](const auto& info) {
                           return PipelineSchedule::Type_Name(std::get<0>(info.param)) +
                                  Optimizer::Type_Name(std::get<1>(info.param));
                         });

class TwoStages : public testing::Test {
 protected:
  TwoStages() : spec_(SmallJob(folder_.path() / "data", kSamples)) {
    spec_.mutable_worker()->set_count(2);
  }

  worker::TestFolder folder_;
  v1alpha1::FreezePipeJobSpec spec_;
};

TEST_F(TwoStages, RecomputeChangesNothing) {
  const auto plain = TrainPlainly(spec_);
  for (const auto mode : {v1alpha1::Recompute::ExceptLast, v1alpha1::Recompute::Always}) {
    SCOPED_TRACE(v1alpha1::Recompute::Mode_Name(mode));
    spec_.mutable_pipeline()->set_recompute(mode);
    const auto run = RunJob(folder_.path() / v1alpha1::Recompute::Mode_Name(mode), spec_);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    ExpectSameLosses(run.losses, plain.losses);
    ExpectSameWeights(run.weights, plain.weights);
  }
}

TEST_F(TwoStages, ClippingByTheGlobalNormIsTheSameForEveryNumberOfStages) {
  spec_.mutable_training()->set_clip_grad_norm(0.5);
  spec_.mutable_worker()->set_count(1);
  const auto one = RunJob(folder_.path() / "one", spec_);
  ASSERT_EQ(one.exit_code, 0) << one.output;
  for (const int stages : {2, 4}) {
    spec_.mutable_worker()->set_count(stages);
    const auto more = RunJob(folder_.path() / std::to_string(stages), spec_);
    ExpectSameLosses(more.losses, one.losses);
    ExpectSameWeights(more.weights, one.weights);
  }
  EXPECT_NE(one.losses, TrainPlainly(spec_).losses) << "nothing was clipped";
}

class Replicas : public TwoStages {
 protected:
  /// Largest difference of a loss and of a weight, relative to the plain loop's.
  void ExpectClose(double bound) {
    const auto plain = TrainPlainly(spec_);
    spec_.mutable_worker()->set_count(4);
    spec_.mutable_pipeline()->set_replicas(2);
    const auto run = RunJob(folder_.path() / "run", spec_);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    ASSERT_EQ(run.losses.size(), plain.losses.size());
    for (const auto& [step, loss] : plain.losses) {
      EXPECT_NEAR(run.losses.at(step), loss, bound * std::abs(loss)) << "step " << step;
    }
    ASSERT_EQ(run.weights.size(), plain.weights.size());
    for (const auto& [name, tensor] : plain.weights) {
      const auto difference = (run.weights.at(name) - tensor).abs().max().item<double>();
      EXPECT_LE(difference, bound * tensor.abs().max().item<double>()) << name;
    }
  }
};

TEST_F(Replicas, OfTwoStagesEqualThePlainLoopUpToTheOrderOfSumsInFloat64) {
  spec_.mutable_training()->set_precision(v1alpha1::Precision::Float64);
  ExpectClose(1e-9);
}

TEST_F(Replicas, OfTwoStagesEqualThePlainLoopUpToTheOrderOfSumsInFloat32) { ExpectClose(1e-4); }

}  // namespace
}  // namespace freezepipe::training
