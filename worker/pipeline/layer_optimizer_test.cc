#include "worker/pipeline/layer_optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

namespace freezepipe::worker {
namespace {

// A matrix, an image kernel in the memory order that convolutions use, and a vector. Gradients and
// slots come in plain order.
std::vector<at::Tensor> Parameters() {
  at::manual_seed(7);
  return {at::randn({5, 3}).requires_grad_(),
          at::randn({4, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(),
          at::randn({6}).requires_grad_()};
}

NamedTensors Named(const std::vector<at::Tensor>& parameters) {
  NamedTensors named;
  for (const auto& one : parameters) named.emplace_back(std::to_string(named.size()), one);
  return named;
}

void SetGradients(std::vector<at::Tensor>& parameters, int step) {
  at::manual_seed(100 + step);
  for (auto& one : parameters) one.mutable_grad() = at::randn(one.sizes());
}

v1alpha1::OptimizerSpec Sgd(double momentum, bool nesterov) {
  v1alpha1::OptimizerSpec spec;
  spec.set_type(v1alpha1::Optimizer::SGD);
  spec.set_momentum(momentum);
  spec.set_nesterov(nesterov);
  spec.set_weight_decay(0.01);
  return spec;
}

v1alpha1::OptimizerSpec AdamW() {
  v1alpha1::OptimizerSpec spec;
  spec.set_type(v1alpha1::Optimizer::AdamW);
  spec.set_weight_decay(0.01);
  spec.set_beta1(0.8);
  spec.set_beta2(0.95);
  spec.set_epsilon(1e-6);
  return spec;
}

constexpr int kSteps = 20;

// A learning rate that changes from step to step, as schedules do.
double Rate(int step) { return 0.05 / (1 + step); }

void ExpectEqualUpdates(const v1alpha1::OptimizerSpec& spec, torch::optim::Optimizer& peer,
                        std::vector<at::Tensor>& theirs) {
  auto ours = Parameters();
  LayerOptimizer optimizer(spec, Named(ours));
  for (int step = 0; step < kSteps; ++step) {
    SetGradients(ours, step);
    SetGradients(theirs, step);
    optimizer.Step(Rate(step));
    peer.param_groups()[0].options().set_lr(Rate(step));
    peer.step();
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_FALSE(ours[i].grad().defined());
      ASSERT_TRUE(at::allclose(ours[i], theirs[i], /*rtol=*/1e-5, /*atol=*/1e-6))
          << "parameter " << i << " after step " << step;
    }
  }
}

TEST(LayerOptimizer, SgdUpdatesAsTorchOptim) {
  struct Case {
    double momentum;
    bool nesterov;
  };
  for (const Case& one : {Case{0, false}, Case{0.9, false}, Case{0.9, true}}) {
    SCOPED_TRACE(testing::Message() << "momentum " << one.momentum << " nesterov " << one.nesterov);
    auto theirs = Parameters();
    torch::optim::SGD peer(theirs, torch::optim::SGDOptions(1)
                                       .momentum(one.momentum)
                                       .nesterov(one.nesterov)
                                       .weight_decay(0.01));
    ExpectEqualUpdates(Sgd(one.momentum, one.nesterov), peer, theirs);
  }
}

TEST(LayerOptimizer, AdamWUpdatesAsTorchOptim) {
  auto theirs = Parameters();
  torch::optim::AdamW peer(
      theirs, torch::optim::AdamWOptions(1).weight_decay(0.01).betas({0.8, 0.95}).eps(1e-6));
  ExpectEqualUpdates(AdamW(), peer, theirs);
}

TEST(LayerOptimizer, GoesOnFromItsSlotsBitForBit) {
  for (const auto& spec : {Sgd(0.9, false), AdamW()}) {
    auto through = Parameters();
    LayerOptimizer whole(spec, Named(through));
    auto moved = Parameters();
    auto first = std::make_unique<LayerOptimizer>(spec, Named(moved));
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps / 2) {
        NamedTensors slots;
        for (const auto& [name, value] : first->Slots()) {
          slots.emplace_back(name, value.clone(at::MemoryFormat::Contiguous));
        }
        first = std::make_unique<LayerOptimizer>(spec, Named(moved));
        first->SetSlots(slots);
      }
      SetGradients(through, step);
      SetGradients(moved, step);
      whole.Step(Rate(step));
      first->Step(Rate(step));
    }
    for (size_t i = 0; i < through.size(); ++i) EXPECT_TRUE(at::equal(through[i], moved[i])) << i;
  }
}

TEST(LayerOptimizer, WithoutAGradientAParameterStays) {
  auto parameters = Parameters();
  LayerOptimizer optimizer(AdamW(), Named(parameters));
  const auto before = parameters[0].detach().clone();
  parameters[2].mutable_grad() = at::randn({6});
  optimizer.Step(0.1);
  EXPECT_TRUE(at::equal(parameters[0], before));
  EXPECT_EQ(optimizer.Slots().size(), 3u);  // of the third parameter alone
}

TEST(LayerOptimizer, HalfOfTheSlotsIsAnError) {
  auto parameters = Parameters();
  SetGradients(parameters, 0);
  LayerOptimizer optimizer(AdamW(), Named(parameters));
  optimizer.Step(0.1);
  auto slots = optimizer.Slots();
  std::erase_if(slots, [](const auto& one) { return one.first == "1/exp_avg"; });
  EXPECT_THROW(optimizer.SetSlots(slots), std::runtime_error);
}

}  // namespace
}  // namespace freezepipe::worker
