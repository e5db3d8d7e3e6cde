#pragma once

#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "freezepipe/v1alpha1/plan.pb.h"

namespace freezepipe::planner {

/// What the job (defaults applied) does as its frozen boundary grows, as text: for each of the
/// boundaries, ascending, the stages it then runs with the time of one micro-batch in each
/// (transfer of its input included) and the share of the step that it is busy, the predicted step,
/// and its bubble. Devices given back at one boundary are gone at the next. Throws
/// std::invalid_argument for a boundary outside [0, layers) and for fewer layers than stages.
std::string PlanTable(const v1alpha1::FreezePipeJobSpec& spec,
                      const v1alpha1::ModelProfile& profile, const std::vector<int>& boundaries);

}  // namespace freezepipe::planner
