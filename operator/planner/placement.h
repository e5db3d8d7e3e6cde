#pragma once

#include <string>
#include <vector>

#include "operator/planner/cost_model.h"

namespace freezepipe::planner {

struct HeldWorker {
  int worker = 0;
  /// Machine it runs on.
  std::string node;
  /// Layers it holds now, ascending.
  std::vector<int> layers;
};

/// Workers of each stage, workers[stage][replica], for the partition: the fewest bytes move; among
/// equals, neighbouring stages of a replica share a node, and the workers that leave empty whole
/// nodes first. The bytes are exact for any number of workers; the neatest of equals is for up to
/// seven, and close to it beyond. `held` must have replicas * stages workers at least.
std::vector<std::vector<int>> Place(const CostModel& model, const Partition& partition,
                                    int replicas, const std::vector<HeldWorker>& held);

}  // namespace freezepipe::planner
