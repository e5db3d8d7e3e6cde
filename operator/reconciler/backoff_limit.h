#pragma once

#include <optional>
#include <string>

#include "operator/reconciler/snapshot.h"

namespace freezepipe::reconciler {

/// runPolicy.backoffLimit: why the job has to be given up, when more workers than that were lost by
/// their own fault; disruptions don't count.
std::optional<std::string> ExceededBackoff(const Snapshot& snapshot);

}  // namespace freezepipe::reconciler
