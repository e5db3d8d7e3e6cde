#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/node.h>

#include <memory>
#include <vector>

#include "worker/transport/group.h"
#include "worker/transport/shared_sum.h"

namespace freezepipe::worker {

/// Sums gradients over the replicas of a stage in buckets, each sent as soon as its last gradient
/// is complete in the backward pass of the step's last micro-batch, while earlier layers are still
/// computed (as PyTorch's DDP, Li et al. 2020).
class GradientReducer {
 public:
  /// Parameters in the order in which backward completes them. Lives as long as this set of active
  /// layers. `share_memory`: the replicas see each other's memory. All of them make it at the same
  /// time.
  GradientReducer(Group& replicas, const std::vector<at::Tensor>& parameters, bool share_memory);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// The next backward pass is the step's last.
  void Arm();
  /// Sends what is left (a replica without a micro-batch sends zeros), waits, and puts the sums in
  /// place.
  void Finish();

 private:
  struct Bucket {
    std::vector<at::Tensor> parameters;
    size_t missing = 0;
    int64_t begin = 0;  // among the numbers of all buckets
    int64_t count = 0;
    at::Tensor flat;
    Handle handle;
  };
  struct Hook {
    c10::intrusive_ptr<torch::autograd::Node> accumulator;
    uintptr_t key = 0;
  };

  void OnGradient(size_t bucket);
  void LaunchReady();
  void Launch(Bucket& bucket);

  Group& replicas_;
  std::unique_ptr<SharedSum> shared_;  // null: through the group
  std::vector<Bucket> buckets_;
  std::vector<Hook> hooks_;
  bool armed_ = false;
  size_t launched_ = 0;
};

}  // namespace freezepipe::worker
