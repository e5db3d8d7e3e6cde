#pragma once

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe {

/// The learning rate of a global step, counted from 0: a linear warm-up to optimizer.learningRate,
/// then the schedule over the rest of the run. A function of the step alone.
double LearningRateAt(const v1alpha1::TrainingSpec& training, int step, int total_steps);

}  // namespace freezepipe
