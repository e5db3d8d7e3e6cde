#pragma once

#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "freezepipe/v1alpha1/plan.pb.h"

namespace freezepipe::planner {

/// What the job (defaults applied) would do as its frozen boundary grows, as text: for each
/// boundary, in the order given, a table of the stages it would then run, and the predicted step.
/// Throws std::invalid_argument for a boundary outside [0, layers) or a job that has fewer layers
/// than stages.
std::string PlanTable(const v1alpha1::FreezePipeJobSpec& spec,
                      const v1alpha1::ModelProfile& profile, const std::vector<int>& boundaries);

}  // namespace freezepipe::planner
