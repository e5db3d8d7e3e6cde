#pragma once

#include <optional>
#include <set>

#include "operator/coordinator/session_state.h"
#include "operator/planner/planner.h"

namespace freezepipe::coordinator {

/// Costs at a frozen boundary, on the smallest of the workers' devices.
planner::CostModel CostsAt(const SessionState& state, int boundary);

/// The workers that a plan may use, with the layers that the plan in force gives them.
std::vector<planner::HeldWorker> HeldWorkers(const SessionState& state,
                                             const std::set<int>& usable);

/// A plan of a new generation number. It awaits whom the one in force does and it has no stage for.
v1alpha1::Plan NewPlan(SessionState& state, const planner::PlannedStages& planned, int boundary);

/// The same stages under a new generation number.
v1alpha1::Plan Renumbered(SessionState& state, const v1alpha1::Plan& plan);

/// Has the plan await those of the workers that it has no stage for.
void Await(const std::set<int>& workers, v1alpha1::Plan& plan);

/// Workers that the plan neither has a stage for nor awaits.
std::set<int> ReleasedBy(const SessionState& state, const v1alpha1::Plan& plan);

/// Writes the addresses of these workers into the plan, as their last Hello gave them.
void SetAddresses(const SessionState& state, const std::set<int>& workers, v1alpha1::Plan& plan);

/// Stages as the planner writes them.
planner::Partition PartitionOf(const v1alpha1::Plan& plan);

/// All owners of a layer, replica 0 first.
std::vector<int> OwnersOf(const v1alpha1::Plan& plan, int layer);

/// Writes generation, first step, stages and the workers with and without one into the status.
void DescribePlan(SessionState& state, const v1alpha1::Plan& plan, int step);

/// The notice that a plan is in force.
void SayPlanMade(SessionState& state, const v1alpha1::Plan& plan);

}  // namespace freezepipe::coordinator
