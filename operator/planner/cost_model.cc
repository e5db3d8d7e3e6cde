#include "operator/planner/cost_model.h"

#include <algorithm>

#include "operator/planner/stage_costs.h"

namespace freezepipe::planner {

double StageSeconds(const CostModel& model, int first, int end) {
  return StageCosts(model).Seconds(first, end);
}

double StageBytes(const CostModel& model, int first, int end, int stage, int stages) {
  const StageCosts costs(model);
  return costs.Bytes(first, end, costs.MicroBatchesInFlight(stage, stages));
}

double StepSeconds(const CostModel& model, const Partition& partition) {
  const StageCosts costs(model);
  double sum = 0;
  double longest = 0;
  int first = 0;
  for (int end : partition) {
    const double seconds = costs.Seconds(first, end);
    sum += seconds;
    longest = std::max(longest, seconds);
    first = end;
  }
  return sum + (model.micro_batches - 1) * longest;
}

}  // namespace freezepipe::planner
