#pragma once

#include <optional>

#include "operator/planner/partitioner.h"

namespace freezepipe::planner {

/// What the plan before the first freeze promised: one-device work and step time, seconds.
struct Baseline {
  double work_seconds = 0;
  double step_seconds = 0;
};

Baseline MakeBaseline(const CostModel& model, const Partition& partition);

/// The partition that `release` asks for, with at most `held` stages. nullopt when no number of
/// stages fits.
std::optional<Partition> ChoosePartition(const CostModel& model,
                                         const v1alpha1::ReleaseSpec& release,
                                         const Baseline& baseline, int held);

/// Whether going from one partition to the other is worth it: it frees a device, or gains
/// `min_gain` of the predicted step time.
bool WorthRepartition(const CostModel& model, const Partition& from, const Partition& to,
                      double min_gain);

}  // namespace freezepipe::planner
