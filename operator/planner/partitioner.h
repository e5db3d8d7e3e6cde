#pragma once

#include <optional>

#include "operator/planner/cost_model.h"

namespace freezepipe::planner {

/// The split into exactly `stages` non-empty stages with the shortest step; of equals, the one with
/// the smaller largest stage, then the one that cuts later layers first. nullopt when none fits the
/// device memory or there are fewer layers than stages.
std::optional<Partition> PartitionInto(const CostModel& model, int stages);

}  // namespace freezepipe::planner
