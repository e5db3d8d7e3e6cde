#include "worker/pipeline/gradient_reducer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace freezepipe::worker {
namespace {

/// Large enough that latency doesn't count, small enough that there are several to overlap.
constexpr int64_t kBucketBytes = 4 << 20;

at::Tensor& GradientOf(const at::Tensor& parameter) {
  auto& gradient = parameter.mutable_grad();
  if (!gradient.defined()) gradient = at::zeros_like(parameter);
  return gradient;
}

/// Its numbers as they lie in memory, which is dense: autograd keeps to the parameter's order.
at::Tensor InMemoryOrder(const at::Tensor& gradient) {
  return gradient.as_strided({gradient.numel()}, {1});
}

}  // namespace

GradientReducer::GradientReducer(Group& replicas, const std::vector<at::Tensor>& parameters,
                                 bool share_memory)
    : replicas_(replicas) {
  int64_t bytes = kBucketBytes;
  int64_t count = 0;
  for (const auto& parameter : parameters) {
    if (bytes >= kBucketBytes) {
      buckets_.emplace_back().begin = count;
      bytes = 0;
    }
    bytes += static_cast<int64_t>(parameter.nbytes());
    count += parameter.numel();
    buckets_.back().parameters.push_back(parameter);
    buckets_.back().count += parameter.numel();
    auto accumulator = torch::autograd::impl::grad_accumulator(parameter);
    const size_t bucket = buckets_.size() - 1;
    const auto key =
        accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
            [this, bucket](const auto& outputs, const auto& inputs) {
              OnGradient(bucket);
              return outputs;
            }));
    hooks_.push_back({std::move(accumulator), key});
  }
  if (share_memory && count > 0) {
    shared_ = std::make_unique<SharedSum>(replicas, count, parameters.front().scalar_type());
  }
}

GradientReducer::~GradientReducer() {
  for (const auto& hook : hooks_) hook.accumulator->del_post_hook(hook.key);
}

void GradientReducer::Arm() {
  armed_ = true;
  launched_ = 0;
  for (auto& bucket : buckets_) bucket.missing = bucket.parameters.size();
}

void GradientReducer::OnGradient(size_t bucket) {
  if (!armed_) return;
  --buckets_[bucket].missing;
  LaunchReady();
}

void GradientReducer::LaunchReady() {
  // In order: collectives must come in the same order on every replica.
  while (launched_ < buckets_.size() && buckets_[launched_].missing == 0) {
    Launch(buckets_[launched_++]);
  }
}

void GradientReducer::Launch(Bucket& bucket) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (const auto& parameter : bucket.parameters) {
    parts.push_back(InMemoryOrder(GradientOf(parameter)));
  }
  if (shared_ != nullptr) {
    at::Tensor own = shared_->own().narrow(0, bucket.begin, bucket.count);
    at::cat_out(own, parts);
    bucket.handle = shared_->Publish();
  } else {
    bucket.flat = at::cat(parts);
    bucket.handle = replicas_.AllReduce(bucket.flat);
  }
}

void GradientReducer::Finish() {
  if (!armed_) Arm();  // no micro-batch of its own in this step
  while (launched_ < buckets_.size()) Launch(buckets_[launched_++]);
  armed_ = false;
  const at::NoGradGuard no_grad;
  for (auto& bucket : buckets_) {
    bucket.handle.Wait();
    int64_t offset = 0;
    for (const auto& parameter : bucket.parameters) {
      const auto gradient = InMemoryOrder(GradientOf(parameter));
      if (shared_ != nullptr) {
        shared_->SumInto(gradient, bucket.begin + offset);
      } else {
        gradient.copy_(bucket.flat.narrow(0, offset, gradient.numel()));
      }
      offset += gradient.numel();
    }
    bucket.flat.reset();
  }
  if (shared_ != nullptr) shared_->Turn();
}

}  // namespace freezepipe::worker
