#pragma once

#include <optional>
#include <vector>

#include "operator/planner/partitioner.h"

namespace freezepipe::planner {

/// What the plan before the first freeze promised: one-device work and step time, seconds.
struct Baseline {
  double work_seconds = 0;
  double step_seconds = 0;
};

/// `model` and `partition` of that plan.
Baseline MakeBaseline(const CostModel& model, const Partition& partition);

/// Numbers of replicas that the micro-batches can be shared out among evenly, on so many devices.
std::vector<int> ReplicaCounts(int micro_batches, int devices);

/// The shape with the shortest step on at most `devices` devices, with one of these numbers of
/// replicas and exactly `stages` stages (0: any); of equals, the one with the fewest devices.
/// nullopt when none fits.
std::optional<Shape> ShortestShape(const CostModel& model, const std::vector<int>& replicas,
                                   int devices, int stages = 0);

/// The shape that `release` asks for, with at most so many devices. `model`: with the replicas in
/// force, which stay unless freed devices replicate. nullopt when none fits.
std::optional<Shape> ChooseShape(const CostModel& model, const v1alpha1::ReleaseSpec& release,
                                 const Baseline& baseline, int devices);

/// Whether going from one shape to the other is worth it: it frees a device, or gains `min_gain` of
/// the predicted step time.
bool WorthRepartition(const CostModel& model, const Shape& from, const Shape& to, double min_gain);

}  // namespace freezepipe::planner
