#include "worker/freeze/layer_statistics.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace freezepipe::worker {
namespace {

using v1alpha1::FreezeMetric;

TEST(EffectivePerturbation, GrowsToOneWhileUpdatesPullOneWay) {
  auto weights = at::zeros({3});
  LayerStatistics statistics(FreezeMetric::EffectivePerturbation, {weights});
  EXPECT_FALSE(statistics.EndWindow().has_value());
  double last = 0;
  for (int window = 0; window < 40; ++window) {
    weights.add_(at::tensor({1.0f, -2.0f, 0.5f}));
    const auto now = statistics.EndWindow();
    EXPECT_EQ(now.has_value(), window > 0);
    if (!now) continue;
    EXPECT_GT(*now, last);
    last = *now;
  }
  EXPECT_NEAR(last, 1, 1e-3);
}

TEST(EffectivePerturbation, OfARandomWalkIsAThirdHoweverShort) {
  auto weights = at::zeros({20000});
  auto generator = at::detail::createCPUGenerator(5);
  LayerStatistics statistics(FreezeMetric::EffectivePerturbation, {weights});
  statistics.EndWindow();
  for (int window = 0; window < 12; ++window) {
    weights.add_(at::randn({20000}, generator));
    const auto now = statistics.EndWindow();
    if (now) {
      EXPECT_NEAR(*now, 1.0 / 3, 0.01) << window;
    }
  }
}

TEST(EffectivePerturbation, FollowsTheFormulaOverAllParameters) {
  auto first = at::zeros({1}), second = at::zeros({1});
  LayerStatistics statistics(FreezeMetric::EffectivePerturbation, {first, second});
  statistics.EndWindow();
  first.add_(1);
  second.add_(2);
  statistics.EndWindow();
  first.add_(-1);  // turns back: E = 0.8 * 0.2 - 0.2, A = 0.8 * 0.2 + 0.2
  second.add_(2);  // goes on: E = A = 0.8 * 0.4 + 0.4
  const double random_walk = std::sqrt(0.2 * 1.64 / (1.8 * 0.36));  // of two updates
  EXPECT_NEAR(*statistics.EndWindow(), (0.04 + 0.72) / (0.36 + 0.72) / 3 / random_walk, 1e-6);
}

TEST(EffectivePerturbation, GoesOnFromItsState) {
  auto weights = at::zeros({2});
  LayerStatistics one(FreezeMetric::EffectivePerturbation, {weights});
  one.EndWindow();
  weights.add_(at::tensor({1.0f, 3.0f}));
  one.EndWindow();
  LayerStatistics other(FreezeMetric::EffectivePerturbation, {weights});
  for (const auto& [name, value] : one.State()) other.SetState(name, value);
  weights.add_(at::tensor({-2.0f, 1.0f}));
  EXPECT_EQ(*one.EndWindow(), *other.EndWindow());
}

TEST(NormChange, SumsGradientsOverTheWindowSoThatSignsCancel) {
  auto weights = at::zeros({2}).requires_grad_();
  LayerStatistics statistics(FreezeMetric::NormChange, {weights});
  weights.mutable_grad() = at::tensor({1.0f, -2.0f});
  statistics.ObserveGradients();
  weights.mutable_grad() = at::tensor({-1.0f, -1.0f});
  statistics.ObserveGradients();
  EXPECT_NEAR(*statistics.EndWindow(), 3, 1e-6);
  EXPECT_FALSE(statistics.EndWindow().has_value());
}

}  // namespace
}  // namespace freezepipe::worker
