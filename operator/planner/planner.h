#pragma once

#include <optional>
#include <vector>

#include "operator/planner/cost_model.h"
#include "operator/planner/placement.h"
#include "operator/planner/release_objective.h"

namespace freezepipe::planner {

/// Everything a decision about stages depends on.
struct PlanRequest {
  CostModel model;
  v1alpha1::ReleaseSpec release;
  /// Of the plan before the first freeze.
  Baseline baseline;
  int replicas = 1;
  /// Workers that may be used; every plan uses replicas * stages of them.
  std::vector<HeldWorker> held;
  /// Most stages to use; 0 for as many as the held workers and the layers allow.
  int max_stages = 0;
  /// The partition in force, if there is one that can stay.
  std::optional<Partition> current;
};

/// A partition with a worker for each of its places.
struct PlannedStages {
  Partition partition;
  /// workers[stage][replica].
  std::vector<std::vector<int>> workers;
  /// Predicted, seconds.
  double step_seconds = 0;
  /// Predicted for one micro-batch in each stage, seconds.
  std::vector<double> stage_seconds;
};

/// The cost model of a job (defaults applied) while layers [0, boundary) are frozen. Memory is
/// unlimited: a caller that knows the devices' memory sets it.
CostModel MakeCostModel(const v1alpha1::FreezePipeJobSpec& spec,
                        const v1alpha1::ModelProfile& profile, int boundary);

/// Stages that the job (defaults applied) starts with: the manifest's, or one a worker of a replica
/// but no more than there are layers.
int InitialStages(const v1alpha1::FreezePipeJobSpec& spec, int layers);

/// The plan that the release objective asks for. nullopt when the current partition should stay (no
/// device freed and less than release.min_gain of the step won), or nothing fits the held workers
/// and their memory. A current partition that needs more workers than are held, or more memory than
/// there is, never stays.
std::optional<PlannedStages> MakePlan(const PlanRequest& request);

/// The plan with exactly `stages` stages, whatever the release objective. nullopt when it does not
/// fit the held workers, the layers or the memory.
std::optional<PlannedStages> MakeInitialPlan(const CostModel& model, int replicas,
                                             const std::vector<HeldWorker>& held, int stages);

}  // namespace freezepipe::planner
