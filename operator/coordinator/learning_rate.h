#pragma once

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::coordinator {

/// The learning rate that the manifest (defaults applied) gives a step, before any cool-down. By
/// step alone, so that what a freeze policy sees does not depend on when a report came.
double LearningRateAt(const v1alpha1::TrainingSpec& training, int total_steps, int step);

}  // namespace freezepipe::coordinator
