#include "operator/planner/planner.h"

#include <algorithm>

#include "proto/activation_caching.h"

namespace freezepipe::planner {
namespace {

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

/// Part of an output's bytes that is kept. Autocast makes outputs of both sizes: counted whole.
double StoredPart(const v1alpha1::FreezePipeJobSpec& spec) {
  if (spec.freeze().cache().dtype() == v1alpha1::CacheType::Full) return 1;
  switch (spec.training().precision()) {
    case v1alpha1::Precision::Float64:
      return 0.25;
    case v1alpha1::Precision::BFloat16:
      return 1;
    default:
      return 0.5;
  }
}

/// The workers keep what layers [0, boundary) put out for all samples, on CPUs alone.
bool KeepsOutputs(const v1alpha1::FreezePipeJobSpec& spec, const v1alpha1::ModelProfile& profile,
                  int boundary) {
  const int views = Views(spec);
  if (boundary == 0 || views == 0 || profile.device() != "cpu") return false;
  const double sample_bytes = StoredPart(spec) *
                              static_cast<double>(profile.layers(boundary - 1).output_bytes()) /
                              profile.micro_batch_size();
  const auto samples = views * profile.train_samples() + profile.test_samples();
  const auto& cache = spec.freeze().cache();
  // In one of the two, whole.
  const int64_t room = std::max(CacheBytes(cache.memory_limit()), CacheBytes(cache.disk_limit()));
  return sample_bytes * static_cast<double>(samples) <= static_cast<double>(room);
}

}  // namespace

CostModel MakeCostModel(const v1alpha1::FreezePipeJobSpec& spec,
                        const v1alpha1::ModelProfile& profile, int boundary) {
  CostModel model;
  model.layers.assign(profile.layers().begin(), profile.layers().end());
  model.boundary = boundary;
  if (KeepsOutputs(spec, profile, boundary)) model.frozen_work = FrozenWork::kCached;
  model.micro_batches = spec.pipeline().micro_batches();
  model.replicas = std::max(spec.pipeline().replicas(), 1);
  model.recompute = spec.pipeline().recompute();
  model.schedule = spec.pipeline().schedule();
  return model;
}

std::optional<Shape> FullShape(const CostModel& model, const v1alpha1::PipelineSpec& pipeline,
                               bool replicate, int devices) {
  const int wanted = pipeline.stages();
  if (replicate || pipeline.replicas() == 0) {
    return ShortestShape(model, ReplicaCounts(model.micro_batches, devices), devices,
                         replicate ? 0 : std::min(wanted, devices));
  }
  const int held = devices / pipeline.replicas();
  if (held == 0) return std::nullopt;
  const int stages = std::min(held, wanted > 0 ? wanted : static_cast<int>(model.layers.size()));
  return ShortestShape(model, {pipeline.replicas()}, devices, stages);
}

std::optional<PlannedStages> MakePlan(const PlanRequest& request) {
  const int devices = static_cast<int>(request.held.size());
  auto chosen = ChooseShape(request.model, request.release, request.baseline, devices);
  if (!chosen) return std::nullopt;
  if (request.current) {
    const Shape current{*request.current, request.model.replicas};
    const bool can_stay =
        current.devices() <= devices && FitsMemory(request.model, current.partition);
    if (can_stay &&
        !WorthRepartition(request.model, current, *chosen, request.release.min_gain())) {
      return std::nullopt;
    }
  }
  return PlanOf(request.model, std::move(*chosen), request.held);
}

PlannedStages PlanOf(const CostModel& model, Shape shape, const std::vector<HeldWorker>& held) {
  const CostModel each = WithReplicas(model, shape.replicas);
  PlannedStages planned;
  planned.workers = Place(each, shape.partition, shape.replicas, held);
  planned.step_seconds = StepSeconds(each, shape.partition);
  planned.stage_seconds = StageSeconds(each, shape.partition);
  planned.shape = std::move(shape);
  return planned;
}

}  // namespace freezepipe::planner
