#pragma once

#include <vector>

#include "worker/model/layer.h"

namespace freezepipe::worker {

/// Batch-norm over dimension 1 that normalises within a micro-batch and moves its running
/// statistics once a step, from the moments of all micro-batches of the global batch: the same for
/// every number of stages and replicas.
class BatchNorm : public torch::nn::Module {
 public:
  explicit BatchNorm(int64_t channels, double epsilon = 1e-5, double momentum = 0.1);

  at::Tensor Forward(const at::Tensor& input, const ForwardContext& context);

  /// Moments of this step's micro-batches so far, in the order of their forward passes; cleared.
  std::vector<BatchMoments> TakeMoments();
  /// Moves the running statistics by the moments of all micro-batches, in global order: mean and
  /// unbiased variance of all their values together, in double.
  void Commit(const std::vector<BatchMoments>& moments);
  int64_t channels() const;

 private:
  at::Tensor weight_, bias_, running_mean_, running_var_;
  double epsilon_, momentum_;
  std::vector<BatchMoments> moments_;
};

/// Every BatchNorm inside a layer, in registration order.
std::vector<BatchNorm*> BatchNormsOf(Layer& layer);

}  // namespace freezepipe::worker
