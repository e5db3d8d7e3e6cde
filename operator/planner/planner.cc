#include "operator/planner/planner.h"

#include <algorithm>

#include "operator/planner/stage_costs.h"

namespace freezepipe::planner {
namespace {

PlannedStages Planned(const CostModel& model, Partition partition, int replicas,
                      const std::vector<HeldWorker>& held) {
  PlannedStages planned;
  planned.workers = Place(model, partition, replicas, held);
  planned.step_seconds = StepSeconds(model, partition);
  const StageCosts costs(model);
  int first = 0;
  for (int end : partition) {
    planned.stage_seconds.push_back(costs.Seconds(first, end));
    first = end;
  }
  planned.partition = std::move(partition);
  return planned;
}

bool FitsMemory(const CostModel& model, const Partition& partition) {
  if (model.memory_bytes <= 0) return true;
  const int stages = static_cast<int>(partition.size());
  int first = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const double bytes = StageBytes(model, first, partition[stage], stage, stages);
    if (bytes > model.memory_bytes) return false;
    first = partition[stage];
  }
  return true;
}

}  // namespace

CostModel MakeCostModel(const v1alpha1::FreezePipeJobSpec& spec,
                        const v1alpha1::ModelProfile& profile, int boundary) {
  CostModel model;
  model.layers.assign(profile.layers().begin(), profile.layers().end());
  model.boundary = boundary;
  model.micro_batches = spec.pipeline().micro_batches() / spec.pipeline().replicas();
  model.recompute = spec.pipeline().recompute();
  model.schedule = spec.pipeline().schedule();
  return model;
}

int InitialStages(const v1alpha1::FreezePipeJobSpec& spec, int layers) {
  if (spec.pipeline().stages() > 0) return spec.pipeline().stages();
  return std::min(layers, spec.worker().count() / spec.pipeline().replicas());
}

std::optional<PlannedStages> MakePlan(const PlanRequest& request) {
  const int held = static_cast<int>(request.held.size()) / request.replicas;
  const int most = request.max_stages > 0 ? std::min(held, request.max_stages) : held;
  auto chosen = ChoosePartition(request.model, request.release, request.baseline, most);
  if (!chosen) return std::nullopt;
  const auto& current = request.current;
  const bool can_stay =
      current && static_cast<int>(current->size()) <= most && FitsMemory(request.model, *current);
  if (can_stay && !WorthRepartition(request.model, *current, *chosen, request.release.min_gain())) {
    return std::nullopt;
  }
  return Planned(request.model, std::move(*chosen), request.replicas, request.held);
}

std::optional<PlannedStages> MakeInitialPlan(const CostModel& model, int replicas,
                                             const std::vector<HeldWorker>& held, int stages) {
  if (stages * replicas > static_cast<int>(held.size())) return std::nullopt;
  auto partition = PartitionInto(model, stages);
  if (!partition) return std::nullopt;
  return Planned(model, std::move(*partition), replicas, held);
}

}  // namespace freezepipe::planner
