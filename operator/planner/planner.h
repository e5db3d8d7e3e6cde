#pragma once

#include <optional>
#include <vector>

#include "operator/planner/cost_model.h"
#include "operator/planner/placement.h"
#include "operator/planner/release_objective.h"

namespace freezepipe::planner {

/// Everything a decision about stages depends on.
struct PlanRequest {
  /// With the replicas in force.
  CostModel model;
  v1alpha1::ReleaseSpec release;
  /// Of the plan before the first freeze.
  Baseline baseline;
  /// Workers that may be used.
  std::vector<HeldWorker> held;
  /// The partition in force, if there is one that can stay.
  std::optional<Partition> current;
};

/// A shape with a worker for each of its places.
struct PlannedStages {
  Shape shape;
  /// workers[stage][replica].
  std::vector<std::vector<int>> workers;
  /// Predicted, seconds.
  double step_seconds = 0;
  /// Predicted for one micro-batch in each stage, seconds.
  std::vector<double> stage_seconds;
};

/// The cost model of a job (defaults applied) while layers [0, boundary) are frozen, with the
/// manifest's replicas, or one where it leaves them to the planner. Memory is unlimited: a caller
/// that knows the devices' memory sets it.
CostModel MakeCostModel(const v1alpha1::FreezePipeJobSpec& spec,
                        const v1alpha1::ModelProfile& profile, int boundary);

/// The shape that the job (defaults applied) has on so many devices before anything is released:
/// the manifest's stages and replicas, as far as the devices are enough for. Stages that it doesn't
/// give are as many as there are devices for each replica, but no more than layers; where it leaves
/// the replicas open too, or freed devices may have changed them (`replicate`), what gives the
/// shortest step. nullopt when none fits the devices, the layers or the memory.
std::optional<Shape> FullShape(const CostModel& model, const v1alpha1::PipelineSpec& pipeline,
                               bool replicate, int devices);

/// The plan that the release objective asks for. nullopt when the current partition should stay (no
/// device freed and less than release.min_gain of the step won), or nothing fits the held workers
/// and their memory. A current partition that needs more workers than are held, or more memory than
/// there is, never stays.
std::optional<PlannedStages> MakePlan(const PlanRequest& request);

/// The plan of this shape, which must not need more than the held workers.
PlannedStages PlanOf(const CostModel& model, Shape shape, const std::vector<HeldWorker>& held);

}  // namespace freezepipe::planner
