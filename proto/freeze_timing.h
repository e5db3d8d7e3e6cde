#pragma once

#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe {

/// Steps of one statistics window: floor(steps per epoch / windows per epoch), at least 1.
int WindowSteps(const v1alpha1::FreezeSpec& spec, int steps_per_epoch);

/// Layers [0, result) are frozen at this step.
int BoundaryAt(const std::vector<v1alpha1::FreezeLogEntry>& log, int step);

/// Factor on the learning rate of a layer at this step: 1 until it is chosen, then a line to 0
/// where it is frozen.
double CoolDownFactor(const std::vector<v1alpha1::FreezeLogEntry>& log, int layer, int step);

}  // namespace freezepipe
