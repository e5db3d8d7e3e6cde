#include "worker/pipeline/layer_optimizer.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <map>
#include <stdexcept>

namespace freezepipe::worker {
namespace {

std::unique_ptr<torch::optim::Optimizer> Make(const v1alpha1::OptimizerSpec& spec,
                                              std::vector<at::Tensor> parameters) {
  if (spec.type() == v1alpha1::Optimizer::AdamW) {
    return std::make_unique<torch::optim::AdamW>(std::move(parameters),
                                                 torch::optim::AdamWOptions(spec.learning_rate())
                                                     .betas({spec.beta1(), spec.beta2()})
                                                     .eps(spec.epsilon())
                                                     .weight_decay(spec.weight_decay()));
  }
  return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                             torch::optim::SGDOptions(spec.learning_rate())
                                                 .momentum(spec.momentum())
                                                 .nesterov(spec.nesterov())
                                                 .weight_decay(spec.weight_decay()));
}

// A slot in the parameter's own memory order, whatever order it arrives in.
at::Tensor LikeParameter(const at::Tensor& parameter, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  return at::empty_like(parameter.detach()).copy_(value);
}

}  // namespace

LayerOptimizer::LayerOptimizer(const v1alpha1::OptimizerSpec& spec, NamedTensors parameters)
    : type_(spec.type()), parameters_(std::move(parameters)) {
  if (parameters_.empty()) return;
  std::vector<at::Tensor> tensors;
  for (const auto& [name, parameter] : parameters_) tensors.push_back(parameter);
  optimizer_ = Make(spec, std::move(tensors));
}

LayerOptimizer::~LayerOptimizer() = default;

void LayerOptimizer::Step(double learning_rate) {
  if (optimizer_ == nullptr) return;
  optimizer_->param_groups().front().options().set_lr(learning_rate);
  optimizer_->step();
  optimizer_->zero_grad();
}

NamedTensors LayerOptimizer::Slots() const {
  NamedTensors slots;
  for (const auto& [name, parameter] : parameters_) {
    const auto& states = optimizer_->state();
    const auto found = states.find(parameter.unsafeGetTensorImpl());
    if (found == states.end()) continue;
    if (type_ == v1alpha1::Optimizer::AdamW) {
      const auto& state = static_cast<const torch::optim::AdamWParamState&>(*found->second);
      slots.emplace_back(name + "/step", at::scalar_tensor(state.step(), at::kLong));
      slots.emplace_back(name + "/exp_avg", state.exp_avg());
      slots.emplace_back(name + "/exp_avg_sq", state.exp_avg_sq());
    } else {
      const auto& state = static_cast<const torch::optim::SGDParamState&>(*found->second);
      if (state.momentum_buffer().defined()) {
        slots.emplace_back(name + "/momentum_buffer", state.momentum_buffer());
      }
    }
  }
  return slots;
}

void LayerOptimizer::SetSlots(const NamedTensors& slots) {
  std::map<std::string, at::Tensor> by_name(slots.begin(), slots.end());
  const auto take = [&](const std::string& name) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) throw std::runtime_error("optimizer slot " + name + " is missing");
    return found->second;
  };
  for (const auto& [name, parameter] : parameters_) {
    auto& states = optimizer_->state();
    if (type_ == v1alpha1::Optimizer::AdamW) {
      if (!by_name.contains(name + "/step")) continue;
      auto state = std::make_unique<torch::optim::AdamWParamState>();
      state->step(take(name + "/step").item<int64_t>());
      state->exp_avg(LikeParameter(parameter, take(name + "/exp_avg")));
      state->exp_avg_sq(LikeParameter(parameter, take(name + "/exp_avg_sq")));
      states[parameter.unsafeGetTensorImpl()] = std::move(state);
    } else if (by_name.contains(name + "/momentum_buffer")) {
      auto state = std::make_unique<torch::optim::SGDParamState>();
      state->momentum_buffer(LikeParameter(parameter, take(name + "/momentum_buffer")));
      states[parameter.unsafeGetTensorImpl()] = std::move(state);
    }
  }
}

}  // namespace freezepipe::worker
