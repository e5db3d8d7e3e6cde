#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "worker/freeze/activation_cache.h"
#include "worker/pipeline/owned_layer.h"

namespace freezepipe::worker {

/// A number that is not finite came out of a layer.
class NotFiniteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What goes into a stage.
struct StageInput {
  /// Gives it, whole. Not called where the cache has what comes of it; called twice to find out
  /// what went wrong.
  std::function<at::Tensor()> load;
  /// Names of its rows in the activation cache; empty if what comes of them isn't to be kept.
  std::vector<int64_t> cache_keys;
};

/// Rows that came to frozen layers, and those of them that were read from the cache.
struct CacheUse {
  int64_t rows = 0;
  int64_t read = 0;

  void Add(const CacheUse& other);
};

/// The consecutive layers of one pipeline stage, their forward and backward passes over
/// micro-batches. Frozen layers run without gradient, in evaluation mode, before the active ones.
class Stage {
 public:
  /// `layers`: not empty, ascending. `cache`: null for none.
  Stage(const JobContext& job, std::vector<std::shared_ptr<OwnedLayer>> layers,
        ActivationCache* cache = nullptr);

  const std::vector<std::shared_ptr<OwnedLayer>>& layers() const { return layers_; }
  ActivationCache* cache() const { return cache_; }

  /// Freezes what is now frozen. `last_micro_batch`: of this replica, which recompute ExceptLast
  /// leaves alone.
  void BeginStep(int step, int boundary, int last_micro_batch);
  /// A layer of this stage is active in this step: it gets a gradient, and keeps one for
  /// `sends_gradient`.
  bool trains() const { return !layers_.back()->frozen(); }
  /// The stage before trains too.
  bool sends_gradient() const { return layers_.front()->index() > boundary_; }

  /// Output of a micro-batch, without history; what backward needs is kept.
  at::Tensor Forward(int micro_batch, const StageInput& input);
  /// Adds to the parameters' gradients; gives the input's gradient if sends_gradient().
  at::Tensor Backward(int micro_batch, const at::Tensor& gradient);
  at::Tensor Evaluate(const StageInput& input);
  /// Since it was called last.
  CacheUse TakeCacheUse() { return std::exchange(cache_use_, {}); }

 private:
  struct Saved {
    at::Tensor input;   // of the first active layer, a leaf
    at::Tensor output;  // undefined where it is to be recomputed
  };

  /// Throws NotFiniteError naming the first layer whose output is not finite when run on `input`.
  [[noreturn]] void BlameNotFinite(int micro_batch, const at::Tensor& input);
  /// Output of the frozen layers: read, or computed from the highest level that all rows have, and
  /// kept.
  at::Tensor RunFrozen(const StageInput& input);
  bool Recomputes(int micro_batch) const;
  at::Tensor Run(size_t first, size_t end, at::Tensor value, ForwardContext context);
  size_t first_active() const;

  const JobContext& job_;
  std::vector<std::shared_ptr<OwnedLayer>> layers_;
  ActivationCache* const cache_;
  CacheUse cache_use_;
  int step_ = 0;
  int boundary_ = 0;
  int last_micro_batch_ = 0;
  bool output_checked_ = false;  // in this step
  std::map<int, Saved> saved_;
};

}  // namespace freezepipe::worker
