#pragma once

#include <cstdint>
#include <vector>

namespace freezepipe::worker {

/// Which samples each step uses: a permutation by (seed, epoch), every sample exactly once an
/// epoch, the last batch of an epoch short. A function of its arguments alone. Keeps one epoch's
/// order: not for several threads.
class Sampler {
 public:
  Sampler(int64_t samples, int batch_size, uint64_t seed);

  int steps_per_epoch() const;
  /// Samples of the global batch of this step.
  std::vector<int64_t> Batch(int step) const;

 private:
  int64_t samples_;
  int batch_size_;
  uint64_t seed_;
  mutable int epoch_ = -1;
  mutable std::vector<int64_t> permutation_;
};

/// Sizes of a batch's micro-batches: `count` of them, as even as can be, the larger ones first;
/// some may be 0.
std::vector<int64_t> MicroBatchSizes(int64_t batch, int count);

}  // namespace freezepipe::worker
