#pragma once

#include <vector>

#include "operator/planner/cost_model.h"

namespace freezepipe::planner {

/// Seconds and bytes of any stage of a cost model in constant time, from sums over its layers. The
/// one place of the formulas; `model` must outlive it.
class StageCosts {
 public:
  explicit StageCosts(const CostModel& model);

  int layers() const { return static_cast<int>(seconds_.size()) - 1; }

  /// Of the layers in front of `layer`, for one micro-batch, without transfers.
  double SecondsBefore(int layer) const { return seconds_[layer]; }

  /// Of receiving the stage's input; 0 for the first stage, and with a cached prefix for every
  /// stage that would receive none but cached activations.
  double TransferSeconds(int first) const { return transfer_seconds_[first]; }

  /// Of one micro-batch in the stage [first, end).
  double Seconds(int first, int end) const {
    return seconds_[end] - seconds_[first] + transfer_seconds_[first];
  }

  /// Micro-batches whose activations stage `stage` of `stages` holds at most.
  int MicroBatchesInFlight(int stage, int stages) const;

  /// Of the stage [first, end); never less for a larger end.
  double Bytes(int first, int end, int in_flight) const;

 private:
  const CostModel& model_;
  // Each a sum over the layers in front.
  std::vector<double> seconds_;
  std::vector<double> state_bytes_;
  std::vector<double> saved_bytes_;
  std::vector<double> transfer_seconds_;
};

}  // namespace freezepipe::planner
