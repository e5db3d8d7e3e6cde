#include "worker/pipeline/schedule.h"

#include <algorithm>

namespace freezepipe::worker {

std::vector<PipelineAction> MakeSchedule(v1alpha1::PipelineSchedule::Type type, int stage,
                                         int stages, const std::vector<int>& micro_batches,
                                         bool trains) {
  using Kind = PipelineAction::Kind;
  const size_t count = micro_batches.size();
  const size_t ahead = type == v1alpha1::PipelineSchedule::OneForwardOneBackward
                           ? std::min(count, static_cast<size_t>(stages - stage))
                           : count;
  std::vector<PipelineAction> actions;
  for (size_t forward = 0, backward = 0; forward < count || (trains && backward < count);) {
    if (forward < count && (!trains || forward < backward + ahead)) {
      actions.push_back({Kind::kForward, micro_batches[forward++]});
    } else {
      actions.push_back({Kind::kBackward, micro_batches[backward++]});
    }
  }
  return actions;
}

}  // namespace freezepipe::worker
