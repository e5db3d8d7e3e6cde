#pragma once

#include "freezepipe/v1alpha1/plan.pb.h"
#include "worker/pipeline/job_context.h"

namespace freezepipe::worker {

/// Measures every layer on real images, one micro-batch at a time: medians of several forward and
/// backward passes after a warm-up, output bytes, and the bytes that a forward pass leaves
/// allocated for backward.
v1alpha1::ModelProfile ProfileModel(const JobContext& job);

}  // namespace freezepipe::worker
