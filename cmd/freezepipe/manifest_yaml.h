#pragma once

#include <string>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::cli {

/// The job as a YAML manifest that ReadManifest and `kubectl apply` take.
std::string ToYaml(const v1alpha1::FreezePipeJob& job);

}  // namespace freezepipe::cli
