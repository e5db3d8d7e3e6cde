#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "worker/transport/group.h"
#include "worker/transport/shared_memory.h"

namespace freezepipe::worker {

/// Sums over workers of one machine: each puts its numbers where all can read them, and adds up all
/// by itself, in the order of ranks. There are two places in turn, so that nobody waits until the
/// others have read.
class SharedSum {
 public:
  /// `count` numbers of this type. All ranks of the group, which see each other's memory, make it
  /// at the same time. Throws TransportError.
  SharedSum(Group& group, int64_t count, at::ScalarType type);

  /// This rank's numbers [count], to be written before Publish.
  at::Tensor own() const { return places_[turn_][group_.rank()]; }
  /// Says that numbers were written: once that was waited for, those that were published as many
  /// times by all ranks can be read.
  Handle Publish();
  /// Puts the sums of numbers [begin, begin + result.numel()) into a contiguous tensor.
  void SumInto(const at::Tensor& result, int64_t begin) const;
  /// The next numbers go to the other place.
  void Turn() { turn_ = 1 - turn_; }

 private:
  Group& group_;
  std::vector<at::Tensor> places_[2];  // by rank
  int turn_ = 0;
};

}  // namespace freezepipe::worker
