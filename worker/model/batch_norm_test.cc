#include "worker/model/batch_norm.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace freezepipe::worker {
namespace {

constexpr int64_t kChannels = 3;

at::Tensor Random(at::IntArrayRef shape, uint64_t seed, at::ScalarType type = at::kDouble) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), type);
}

at::Tensor Buffer(const BatchNorm& norm, const char* name) { return norm.named_buffers()[name]; }

/// A batch-norm in float64 whose weights are not 1 and 0.
std::shared_ptr<BatchNorm> MakeNorm() {
  auto norm = std::make_shared<BatchNorm>(kChannels);
  norm->to(at::kDouble);
  const at::NoGradGuard no_grad;
  norm->named_parameters()["weight"].copy_(Random({kChannels}, 1));
  norm->named_parameters()["bias"].copy_(Random({kChannels}, 2));
  return norm;
}

TEST(BatchNormTest, TrainingMatchesTorchForwardAndBackward) {
  const auto norm = MakeNorm();
  const at::Tensor weight = norm->named_parameters()["weight"].detach().clone().requires_grad_();
  const at::Tensor bias = norm->named_parameters()["bias"].detach().clone().requires_grad_();
  const at::Tensor input = Random({4, kChannels, 5, 6}, 3).requires_grad_();
  const at::Tensor reference_input = input.detach().clone().requires_grad_();
  const at::Tensor gradient = Random({4, kChannels, 5, 6}, 4);

  const at::Tensor output = norm->Forward(input, {});
  output.backward(gradient);
  const at::Tensor reference =
      at::batch_norm(reference_input, weight, bias, {}, {}, true, 0.1, 1e-5, false);
  reference.backward(gradient);

  EXPECT_TRUE(at::allclose(output, reference, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(input.grad(), reference_input.grad(), 1e-10, 1e-12));
  EXPECT_TRUE(at::allclose(norm->named_parameters()["weight"].grad(), weight.grad(), 1e-12));
  EXPECT_TRUE(at::allclose(norm->named_parameters()["bias"].grad(), bias.grad(), 1e-12));
}

TEST(BatchNormTest, RunningStatisticsOfUnevenMicroBatchesAreThoseOfTheWholeBatch) {
  const auto norm = MakeNorm();
  const std::vector<at::Tensor> parts = {Random({4, kChannels, 5, 6}, 1) * 3 + 2,
                                         Random({3, kChannels, 5, 6}, 2) * 0.1 - 7,
                                         Random({1, kChannels, 5, 6}, 3)};
  for (size_t i = 0; i < parts.size(); ++i) {
    norm->Forward(parts[i], {.micro_batch = static_cast<int>(i)});
  }
  const std::vector<BatchMoments> moments = norm->TakeMoments();
  ASSERT_EQ(moments.size(), 3);
  EXPECT_EQ(moments[1].micro_batch, 1);
  EXPECT_EQ(moments[1].count, 3 * 5 * 6);
  EXPECT_TRUE(at::allclose(moments[1].variance, parts[1].var({0, 2, 3}, false), 1e-9, 0));
  norm->Commit(moments);

  const at::Tensor mean = at::zeros({kChannels}, at::kDouble);
  const at::Tensor variance = at::ones({kChannels}, at::kDouble);
  at::batch_norm(at::cat(parts), {}, {}, mean, variance, true, 0.1, 1e-5, false);
  EXPECT_TRUE(at::allclose(Buffer(*norm, "running_mean"), mean, 1e-9, 1e-12));
  EXPECT_TRUE(at::allclose(Buffer(*norm, "running_var"), variance, 1e-9, 1e-12));
  EXPECT_TRUE(norm->TakeMoments().empty());
}

TEST(BatchNormTest, OnlyTheFirstTrainingForwardRecords) {
  const auto norm = MakeNorm();
  const at::Tensor input = Random({4, kChannels, 2, 2}, 1);
  norm->Forward(input, {.recompute = true});
  norm->Forward(input, {.training = false});
  EXPECT_TRUE(norm->TakeMoments().empty());
  norm->Forward(input, {});
  EXPECT_EQ(norm->TakeMoments().size(), 1);
  EXPECT_TRUE(at::equal(Buffer(*norm, "running_mean"), at::zeros({kChannels}, at::kDouble)))
      << "a forward pass must leave running statistics alone";
}

TEST(BatchNormTest, EvaluationUsesRunningStatistics) {
  const auto norm = MakeNorm();
  const at::Tensor input = Random({4, kChannels, 2, 2}, 1) + 5;
  norm->Forward(input, {});
  norm->Commit(norm->TakeMoments());
  const auto parameters = norm->named_parameters();
  const at::Tensor expected =
      at::batch_norm(input, parameters["weight"], parameters["bias"], Buffer(*norm, "running_mean"),
                     Buffer(*norm, "running_var"), false, 0.1, 1e-5, false);
  EXPECT_TRUE(at::allclose(norm->Forward(input, {.training = false}), expected, 1e-12, 1e-12));
}

TEST(BatchNormTest, BFloat16InputKeepsStatisticsInFloat32) {
  BatchNorm norm(kChannels);
  const at::Tensor input = Random({8, kChannels, 4, 4}, 1, at::kFloat) * 2 + 1;
  const at::Tensor half = input.to(at::kBFloat16).requires_grad_();
  const at::Tensor output = norm.Forward(half, {});
  output.sum().backward();
  EXPECT_EQ(output.scalar_type(), at::kBFloat16);
  EXPECT_EQ(half.grad().scalar_type(), at::kBFloat16);
  const std::vector<BatchMoments> moments = norm.TakeMoments();
  ASSERT_EQ(moments.size(), 1);
  EXPECT_EQ(moments[0].mean.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(moments[0].mean, input.mean({0, 2, 3}), 1e-2, 1e-2));
  norm.Commit(moments);
  EXPECT_EQ(Buffer(norm, "running_var").scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace freezepipe::worker
