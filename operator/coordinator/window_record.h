#pragma once

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "operator/planner/freeze_policy.h"

namespace freezepipe::coordinator {

/// A window as checkpoints and workers keep it, and back.
v1alpha1::WindowRecord ToRecord(const planner::WindowStatistics& window);
planner::WindowStatistics FromRecord(const v1alpha1::WindowRecord& record);

}  // namespace freezepipe::coordinator
