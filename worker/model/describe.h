#pragma once

#include "freezepipe/v1alpha1/job.pb.h"
#include "freezepipe/v1alpha1/plan.pb.h"

namespace freezepipe::worker {

/// The layers of a job's model, its data set's sizes, and every fault of its manifest that a schema
/// can't see: each with the field's path. `spec` has its defaults filled in. Faults in the data set
/// leave the layers out, for their shapes depend on it.
v1alpha1::JobDescription Describe(const v1alpha1::FreezePipeJobSpec& spec);

}  // namespace freezepipe::worker
