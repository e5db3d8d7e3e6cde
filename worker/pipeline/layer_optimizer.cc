#include "worker/pipeline/layer_optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include <map>
#include <stdexcept>

namespace freezepipe::worker {
namespace {

constexpr char kStep[] = "/step";
constexpr char kExpAvg[] = "/exp_avg";
constexpr char kExpAvgSq[] = "/exp_avg_sq";
constexpr char kMomentumBuffer[] = "/momentum_buffer";

// A slot or gradient in the parameter's own memory order, whatever order it arrives in: the fused
// kernels walk all of a parameter's tensors as flat memory and check nothing.
at::Tensor LikeParameter(const at::Tensor& parameter, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  return at::empty_like(parameter.detach()).copy_(value);
}

}  // namespace

LayerOptimizer::LayerOptimizer(const v1alpha1::OptimizerSpec& spec, const NamedTensors& parameters)
    : spec_(spec) {
  for (const auto& [name, value] : parameters) {
    parameters_.push_back({.name = name, .value = value, .first_moment = {}, .second_moment = {}});
  }
}

void LayerOptimizer::Step(double learning_rate) {
  const at::NoGradGuard no_grad;
  const bool adamw = spec_.type() == v1alpha1::Optimizer::AdamW;
  std::vector<at::Tensor> values, gradients, first_moments, second_moments, steps;
  for (Parameter& one : parameters_) {
    if (!one.value.grad().defined()) continue;
    values.push_back(one.value);
    const at::Tensor gradient = std::move(one.value.mutable_grad());
    gradients.push_back(
        gradient.strides() == one.value.strides() ? gradient : LikeParameter(one.value, gradient));
    if (adamw || spec_.momentum() > 0) {
      if (!one.first_moment.defined()) one.first_moment = at::zeros_like(one.value);
      first_moments.push_back(one.first_moment);
    }
    if (adamw) {
      if (!one.second_moment.defined()) one.second_moment = at::zeros_like(one.value);
      second_moments.push_back(one.second_moment);
      steps.push_back(at::full({}, ++one.steps, one.value.options().dtype(at::kFloat)));
    }
  }
  if (values.empty()) return;
  if (adamw) {
    at::_fused_adamw_(values, gradients, first_moments, second_moments, /*max_exp_avg_sqs=*/{},
                      steps, learning_rate, spec_.beta1(), spec_.beta2(), spec_.weight_decay(),
                      spec_.epsilon(), /*amsgrad=*/false, /*maximize=*/false);
  } else {
    at::_fused_sgd_(values, gradients, first_moments, spec_.weight_decay(), spec_.momentum(),
                    learning_rate, /*dampening=*/0, spec_.nesterov(), /*maximize=*/false,
                    /*is_first_step=*/false);
  }
}

NamedTensors LayerOptimizer::Slots() const {
  NamedTensors slots;
  for (const Parameter& one : parameters_) {
    if (!one.first_moment.defined()) continue;
    if (spec_.type() == v1alpha1::Optimizer::AdamW) {
      slots.emplace_back(one.name + kStep, at::scalar_tensor(one.steps, at::kLong));
      slots.emplace_back(one.name + kExpAvg, one.first_moment);
      slots.emplace_back(one.name + kExpAvgSq, one.second_moment);
    } else {
      slots.emplace_back(one.name + kMomentumBuffer, one.first_moment);
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
  for (Parameter& one : parameters_) {
    if (spec_.type() == v1alpha1::Optimizer::AdamW) {
      if (!by_name.contains(one.name + kStep)) continue;
      one.steps = take(one.name + kStep).item<int64_t>();
      one.first_moment = LikeParameter(one.value, take(one.name + kExpAvg));
      one.second_moment = LikeParameter(one.value, take(one.name + kExpAvgSq));
    } else if (by_name.contains(one.name + kMomentumBuffer)) {
      one.first_moment = LikeParameter(one.value, take(one.name + kMomentumBuffer));
    }
  }
}

}  // namespace freezepipe::worker
