#include "worker/model/batch_norm.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <utility>

namespace freezepipe::worker {

BatchNorm::BatchNorm(int64_t channels, double epsilon, double momentum)
    : weight_(register_parameter("weight", at::ones({channels}))),
      bias_(register_parameter("bias", at::zeros({channels}))),
      running_mean_(register_buffer("running_mean", at::zeros({channels}))),
      running_var_(register_buffer("running_var", at::ones({channels}))),
      epsilon_(epsilon),
      momentum_(momentum) {}

at::Tensor BatchNorm::Forward(const at::Tensor& input, const ForwardContext& context) {
  if (!context.training) {
    return at::batch_norm(input, weight_, bias_, running_mean_, running_var_, /*training=*/false,
                          momentum_, epsilon_, /*cudnn_enabled=*/true);
  }
  auto [output, mean, inverse_deviation] =
      at::native_batch_norm(input, weight_, bias_, /*running_mean=*/{}, /*running_var=*/{},
                            /*training=*/true, momentum_, epsilon_);
  if (!context.recompute && input.numel() > 0) {
    const at::NoGradGuard no_grad;
    moments_.push_back({.micro_batch = context.micro_batch,
                        .count = input.numel() / channels(),
                        .mean = mean.detach(),
                        .variance = inverse_deviation.pow(-2).sub_(epsilon_).clamp_min_(0)});
  }
  return output;
}

std::vector<BatchMoments> BatchNorm::TakeMoments() { return std::exchange(moments_, {}); }

void BatchNorm::Commit(const std::vector<BatchMoments>& moments) {
  if (moments.empty()) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> means, variances;
  std::vector<double> counts;
  double total = 0;
  for (const BatchMoments& one : moments) {
    means.push_back(one.mean);
    variances.push_back(one.variance);
    counts.push_back(static_cast<double>(one.count));
    total += static_cast<double>(one.count);
  }
  if (total == 0) return;
  // [micro-batch, channel]
  const at::Tensor mean = at::stack(means).to(at::kDouble);
  const at::Tensor variance = at::stack(variances).to(at::kDouble);
  const at::Tensor count = at::tensor(counts, at::kDouble).to(running_mean_.device()).unsqueeze(1);
  const at::Tensor combined_mean = (mean * count).sum(0) / total;
  const at::Tensor squares = ((variance + (mean - combined_mean).square()) * count).sum(0);
  const at::Tensor combined_variance = squares / (total > 1 ? total - 1 : 1);
  const auto move = [this](const at::Tensor& running, const at::Tensor& now) {
    running.copy_(running.to(at::kDouble).mul_(1 - momentum_).add_(now, momentum_));
  };
  move(running_mean_, combined_mean);
  move(running_var_, combined_variance);
}

int64_t BatchNorm::channels() const { return weight_.size(0); }

std::vector<BatchNorm*> BatchNormsOf(Layer& layer) {
  std::vector<BatchNorm*> found;
  for (const auto& module : layer.modules(/*include_self=*/false)) {
    if (auto* norm = dynamic_cast<BatchNorm*>(module.get())) found.push_back(norm);
  }
  return found;
}

}  // namespace freezepipe::worker
