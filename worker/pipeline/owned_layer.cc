#include "worker/pipeline/owned_layer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <map>
#include <stdexcept>

#include "worker/checkpoint/initial_weights.h"

namespace freezepipe::worker {
namespace {

constexpr char kOptimizer[] = "optimizer/";
constexpr char kFreeze[] = "freeze/";
constexpr char kLossSums[] = "freeze/loss_sums";

at::Tensor OnCpu(const at::Tensor& tensor) {
  return tensor.detach().to(at::kCPU, false, /*copy=*/true).contiguous();
}

}  // namespace

OwnedLayer::OwnedLayer(const JobContext& job, int index, const LayerState* state)
    : index_(index), name_(job.model().name(index)), module_(job.MakeLayer(index)) {
  NamedTensors parameters;
  for (const auto& item : module_->named_parameters()) {
    parameters.emplace_back(item.key(), item.value());
    parameters_.push_back(item.value());
  }
  batch_norms_ = BatchNormsOf(*module_);
  optimizer_.emplace(job.spec().training().optimizer(), parameters);
  if (job.spec().freeze().policy() == v1alpha1::FreezePolicy::GradientChange) {
    statistics_.emplace(job.spec().freeze().gradient_change().metric(), parameters_);
  }
  if (state != nullptr) {
    Load(*state);
  } else if (job.spec().model().has_initial_weights()) {
    LoadInitialWeights(job.spec().model().initial_weights(), job.model(), index, *module_);
  }
}

void OwnedLayer::Load(const LayerState& state) {
  if (state.layer != name_) {
    throw std::runtime_error("state of layer " + state.layer + " where " + name_ + " was expected");
  }
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> own;
  for (const auto& item : module_->named_parameters()) own[item.key()] = item.value();
  for (const auto& item : module_->named_buffers()) own[item.key()] = item.value();
  size_t loaded = 0;
  NamedTensors slots;
  for (const auto& [name, tensor] : state.tensors) {
    if (name == kLossSums) {
      const auto* sums = tensor.const_data_ptr<double>();
      loss_sums_ = {sums[0], sums[1], sums[2], sums[3]};
    } else if (name.starts_with(kOptimizer)) {
      slots.emplace_back(name.substr(sizeof(kOptimizer) - 1), tensor);
    } else if (name.starts_with(kFreeze)) {
      if (statistics_) statistics_->SetState(name.substr(sizeof(kFreeze) - 1), tensor);
    } else {
      const auto found = own.find(name);
      if (found == own.end() || found->second.sizes() != tensor.sizes()) {
        throw std::runtime_error("tensor " + name_ + "." + name + " doesn't fit the model");
      }
      found->second.copy_(tensor);
      ++loaded;
    }
  }
  if (loaded != own.size()) {
    throw std::runtime_error("state of layer " + name_ + " lacks tensors");
  }
  optimizer_->SetSlots(slots);
}

void OwnedLayer::Freeze() {
  for (auto& parameter : parameters_) {
    parameter.mutable_grad().reset();
    parameter.requires_grad_(false);
  }
  optimizer_.reset();
  statistics_.reset();
  frozen_ = true;
}

void OwnedLayer::Update(double learning_rate) {
  if (optimizer_) optimizer_->Step(learning_rate);
}

LayerState OwnedLayer::Save(int step) const {
  LayerState state{.layer = name_, .step = step, .tensors = {}};
  for (const auto& item : module_->named_parameters()) {
    state.tensors.emplace_back(item.key(), OnCpu(item.value()));
  }
  for (const auto& item : module_->named_buffers()) {
    state.tensors.emplace_back(item.key(), OnCpu(item.value()));
  }
  if (optimizer_) {
    for (const auto& [name, slot] : optimizer_->Slots()) {
      state.tensors.emplace_back(kOptimizer + name, OnCpu(slot));
    }
  }
  if (statistics_) {
    for (const auto& [name, value] : statistics_->State()) {
      state.tensors.emplace_back(kFreeze + name, OnCpu(value));
    }
  }
  const auto& sums = loss_sums_;
  if (sums.window_steps > 0 || sums.epoch_steps > 0) {
    state.tensors.emplace_back(
        kLossSums,
        at::tensor({sums.window, sums.window_steps, sums.epoch, sums.epoch_steps}, at::kDouble));
  }
  return state;
}

}  // namespace freezepipe::worker
