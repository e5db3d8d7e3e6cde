#pragma once

#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::worker {

struct PipelineAction {
  enum class Kind { kForward, kBackward };
  Kind kind = Kind::kForward;
  int micro_batch = 0;
};

/// What a stage does in one step, in order. Forward passes ascend, and so do backward passes, in
/// both schedules: gradients are summed in one order whatever the schedule. GPipe (Huang et al.
/// 2019): all forward, then all backward. 1F1B (PipeDream-Flush, Narayanan et al. 2021): `stages -
/// stage` forward passes, then one backward and one forward in turn. A stage with nothing to train
/// has no backward passes.
std::vector<PipelineAction> MakeSchedule(v1alpha1::PipelineSchedule::Type type, int stage,
                                         int stages, const std::vector<int>& micro_batches,
                                         bool trains);

}  // namespace freezepipe::worker
