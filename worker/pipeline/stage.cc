#include "worker/pipeline/stage.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "worker/freeze/stored_type.h"
#include "worker/model/seed.h"

namespace freezepipe::worker {
namespace {

/// Matrix products and convolutions in bfloat16 while it lives.
class Autocast {
 public:
  Autocast(at::DeviceType device, bool enabled)
      : device_(device), before_(at::autocast::is_autocast_enabled(device)) {
    at::autocast::set_autocast_enabled(device_, enabled);
    if (enabled) at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  }
  ~Autocast() {
    at::autocast::clear_cache();  // the weights it holds casts of are about to change
    at::autocast::set_autocast_enabled(device_, before_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  const at::DeviceType device_;
  const bool before_;
};

void SeedGenerator(at::Device device, uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

bool IsFinite(const at::Tensor& value) {
  return std::isfinite(value.sum(at::kDouble).item<double>());
}

}  // namespace

void CacheUse::Add(const CacheUse& other) {
  rows += other.rows;
  read += other.read;
}

Stage::Stage(const JobContext& job, std::vector<std::shared_ptr<OwnedLayer>> layers,
             ActivationCache* cache)
    : job_(job), layers_(std::move(layers)), cache_(cache) {}

void Stage::BeginStep(int step, int boundary, int last_micro_batch) {
  step_ = step;
  boundary_ = boundary;
  last_micro_batch_ = last_micro_batch;
  output_checked_ = false;
  saved_.clear();
  for (const auto& layer : layers_) {
    if (layer->index() < boundary && !layer->frozen()) layer->Freeze();
    // What a step that was left half-way had gathered.
    for (const auto& parameter : layer->parameters()) parameter.mutable_grad().reset();
    for (BatchNorm* norm : layer->batch_norms()) norm->TakeMoments();
  }
}

size_t Stage::first_active() const {
  size_t first = 0;
  while (first < layers_.size() && layers_[first]->frozen()) ++first;
  return first;
}

bool Stage::Recomputes(int micro_batch) const {
  switch (job_.spec().pipeline().recompute()) {
    case v1alpha1::Recompute::Always:
      return true;
    case v1alpha1::Recompute::ExceptLast:
      return micro_batch != last_micro_batch_;
    default:
      return false;
  }
}

at::Tensor Stage::Run(size_t first, size_t end, at::Tensor value, ForwardContext context) {
  const Autocast autocast(job_.device().type(),
                          job_.spec().training().precision() == v1alpha1::Precision::BFloat16);
  for (size_t i = first; i < end; ++i) {
    OwnedLayer& layer = *layers_[i];
    if (context.training) {
      SeedGenerator(job_.device(),
                    MixSeed(SeedUse::kForward, {job_.seed(), static_cast<uint64_t>(step_),
                                                static_cast<uint64_t>(layer.index()),
                                                static_cast<uint64_t>(context.micro_batch)}));
    }
    value = layer.module().Forward(value, context);
    if (layer.frozen()) {
      // Each of them, so that it doesn't matter from which level a row was read.
      value = RoundToStored(job_.spec().freeze().cache().dtype(), value);
    }
  }
  return value;
}

at::Tensor Stage::RunFrozen(const StageInput& input) {
  const at::NoGradGuard no_grad;
  const ForwardContext context{.training = false, .recompute = false, .micro_batch = 0};
  const size_t active = first_active();
  if (active == 0) return input.load();
  if (cache_ == nullptr || input.cache_keys.empty()) {
    at::Tensor value = Run(0, active, input.load(), context);
    cache_use_.rows += value.size(0);
    return value;
  }
  const int first = layers_.front()->index();
  const int end = first + static_cast<int>(active);
  const auto begin = std::chrono::steady_clock::now();
  std::set<int> levels;
  for (const int64_t key : input.cache_keys) levels.insert(cache_->LevelOf(key));
  const int lowest = *levels.begin();
  at::Tensor value;
  if (lowest == first) {
    value = input.load();
    levels.clear();
  }
  // The rows of higher levels hold nothing until those are reached: the micro-batch stays whole, so
  // that no sum is added up in another order than without the cache.
  int from = lowest;
  for (const int level : levels) {
    value = Run(from - first, level - first, value, context);
    cache_->Read(input.cache_keys, level, &value);
    from = level;
  }
  value = Run(from - first, active, value, context);
  cache_use_.rows += value.size(0);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const double seconds_a_row = seconds.count() / static_cast<double>(value.size(0));
  if (lowest < end) {
    cache_->OnComputed(seconds_a_row);
    cache_->Write(input.cache_keys, value);
  } else {
    cache_->OnRead(seconds_a_row);
    cache_use_.read += value.size(0);
  }
  return value;
}

at::Tensor Stage::Forward(int micro_batch, const StageInput& input) {
  const size_t active = first_active();
  at::Tensor value = RunFrozen(input);
  if (trains()) {
    const ForwardContext context{.training = true, .recompute = false, .micro_batch = micro_batch};
    Saved& saved = saved_[micro_batch];
    saved.input = value.detach().set_requires_grad(sends_gradient());
    if (Recomputes(micro_batch)) {
      const at::NoGradGuard no_grad;
      value = Run(active, layers_.size(), saved.input, context);
    } else {
      saved.output = Run(active, layers_.size(), saved.input, context);
      value = saved.output.detach();
    }
  }
  // One micro-batch's output a step tells a run that has diverged, at a hundredth of the layer's
  // time; on a GPU it would make the host wait.
  if (!std::exchange(output_checked_, true) && job_.device().is_cpu() && !IsFinite(value)) {
    BlameNotFinite(micro_batch, input.load());
  }
  return value;
}

at::Tensor Stage::Backward(int micro_batch, const at::Tensor& gradient) {
  const auto found = saved_.find(micro_batch);
  Saved saved = std::move(found->second);
  saved_.erase(found);
  if (!saved.output.defined()) {
    saved.output = Run(first_active(), layers_.size(), saved.input,
                       {.training = true, .recompute = true, .micro_batch = micro_batch});
  }
  if (saved.output.requires_grad()) {  // it may not: a first layer without parameters
    torch::autograd::backward({saved.output}, {gradient.to(saved.output.scalar_type())});
  }
  return saved.input.grad();
}

at::Tensor Stage::Evaluate(const StageInput& input) {
  const at::NoGradGuard no_grad;
  return Run(first_active(), layers_.size(), RunFrozen(input),
             {.training = false, .recompute = false, .micro_batch = 0});
}

void Stage::BlameNotFinite(int micro_batch, const at::Tensor& input) {
  const at::NoGradGuard no_grad;
  const std::string where = " at step " + std::to_string(step_);
  at::Tensor value = input;
  if (!IsFinite(value)) {
    throw NotFiniteError("input of layer " + layers_.front()->name() + " is not finite" + where);
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    const bool frozen = layers_[i]->frozen();
    value =
        Run(i, i + 1, value, {.training = !frozen, .recompute = true, .micro_batch = micro_batch});
    if (!IsFinite(value)) {
      throw NotFiniteError("output of layer " + layers_[i]->name() + " is not finite" + where +
                           "; a smaller learning rate or training.clipGradNorm may help");
    }
  }
  throw NotFiniteError("loss is not finite" + where);
}

}  // namespace freezepipe::worker
