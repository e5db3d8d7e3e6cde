#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::worker {

/// Stands for the weights that layers [0, level) have once all of them are frozen: in one run they
/// are a function of the freezes chosen until then. None if the log doesn't freeze all of them.
std::optional<uint64_t> WeightVersion(const std::vector<v1alpha1::FreezeLogEntry>& log, int level);

}  // namespace freezepipe::worker
