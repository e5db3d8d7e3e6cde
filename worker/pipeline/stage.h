#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "worker/pipeline/owned_layer.h"

namespace freezepipe::worker {

/// A number that is not finite came out of a layer.
class NotFiniteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The consecutive layers of one pipeline stage, their forward and backward passes over
/// micro-batches. Frozen layers run without gradient, in evaluation mode, before the active ones.
class Stage {
 public:
  /// Not empty, ascending.
  Stage(const JobContext& job, std::vector<std::shared_ptr<OwnedLayer>> layers);

  const std::vector<std::shared_ptr<OwnedLayer>>& layers() const { return layers_; }

  /// Freezes what is now frozen. `last_micro_batch`: of this replica, which recompute ExceptLast
  /// leaves alone.
  void BeginStep(int step, int boundary, int last_micro_batch);
  /// A layer of this stage is active in this step: it gets a gradient, and keeps one for
  /// `sends_gradient`.
  bool trains() const { return !layers_.back()->frozen(); }
  /// The stage before trains too.
  bool sends_gradient() const { return layers_.front()->index() > boundary_; }

  /// Output of a micro-batch, without history; what backward needs is kept.
  at::Tensor Forward(int micro_batch, const at::Tensor& input);
  /// Adds to the parameters' gradients; gives the input's gradient if sends_gradient().
  at::Tensor Backward(int micro_batch, const at::Tensor& gradient);
  at::Tensor Evaluate(const at::Tensor& input);

 private:
  struct Saved {
    at::Tensor input;   // of the first active layer, a leaf
    at::Tensor output;  // undefined where it is to be recomputed
  };

  /// Throws NotFiniteError naming the first layer whose output is not finite when run on `input`.
  [[noreturn]] void BlameNotFinite(int micro_batch, const at::Tensor& input);
  bool Recomputes(int micro_batch) const;
  at::Tensor Run(size_t first, size_t end, at::Tensor value, ForwardContext context);
  size_t first_active() const;

  const JobContext& job_;
  std::vector<std::shared_ptr<OwnedLayer>> layers_;
  int step_ = 0;
  int boundary_ = 0;
  int last_micro_batch_ = 0;
  bool output_checked_ = false;  // in this step
  std::map<int, Saved> saved_;
};

}  // namespace freezepipe::worker
