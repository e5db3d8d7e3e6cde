#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <optional>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "freezepipe/v1alpha1/plan.pb.h"

namespace freezepipe::cli {

/// The job in the file with "path=value" overrides and defaults applied. None when it has faults:
/// all of them are on stderr then, one "path: message" a line.
std::optional<v1alpha1::FreezePipeJob> ReadJob(const std::string& path,
                                               const std::vector<std::string>& sets);

/// Prints what `freezepipe-worker describe` found wrong with the file's job, and its warnings;
/// false when there are faults.
bool CheckFaults(const std::string& path, const v1alpha1::JobDescription& description);

/// metadata.name, or the file's name without its extension where there is none.
std::string JobName(const v1alpha1::FreezePipeJob& job, const std::string& path);

}  // namespace freezepipe::cli
