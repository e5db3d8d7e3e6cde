#pragma once

#include <optional>
#include <string>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::cli {

/// What keeps the job `now` from going on with what the job `before` (both with defaults) has
/// learned: the first field that decides the weights and differs, as
/// "spec.training.optimizer.learningRate changed from 0.05 to 0.1". Workers, stages, replicas,
/// checkpoints, the release objective and the freeze policy may change.
std::optional<std::string> WhyNotResumable(const v1alpha1::FreezePipeJobSpec& before,
                                           const v1alpha1::FreezePipeJobSpec& now);

}  // namespace freezepipe::cli
