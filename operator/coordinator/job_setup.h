#pragma once

#include "freezepipe/v1alpha1/plan.pb.h"
#include "operator/coordinator/job_session.h"

namespace freezepipe::coordinator {

/// What is fixed for a session of this spec (defaults applied), as `freezepipe-worker describe`
/// found it; term, checkpoints and what it goes on from are the caller's to add.
JobSetup MakeJobSetup(const v1alpha1::FreezePipeJobSpec& spec,
                      const v1alpha1::JobDescription& description);

}  // namespace freezepipe::coordinator
