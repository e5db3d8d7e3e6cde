#include "worker/freeze/layer_statistics.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace freezepipe::worker {
namespace {

using v1alpha1::FreezeMetric;

TEST(EffectivePerturbation, IsOneWhileUpdatesPullOneWay) {
  auto weights = at::zeros({3});
  LayerStatistics statistics(FreezeMetric::EffectivePerturbation, {weights});
  EXPECT_FALSE(statistics.EndWindow().has_value());
  for (int window = 0; window < 4; ++window) {
    weights.add_(at::tensor({1.0f, -2.0f, 0.5f}));
    EXPECT_NEAR(*statistics.EndWindow(), 1, 1e-6);
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
  EXPECT_NEAR(*statistics.EndWindow(), (0.04 + 0.72) / (0.36 + 0.72), 1e-6);
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
