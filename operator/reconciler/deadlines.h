#pragma once

#include <optional>
#include <string>

#include "operator/reconciler/snapshot.h"

namespace freezepipe::reconciler {

/// runPolicy.activeDeadlineSeconds and startDeadlineSeconds, both from status.startTime on, which a
/// suspended job doesn't have. Why the job has to be given up by now: "DeadlineExceeded: ...".
std::optional<std::string> MissedDeadline(const Snapshot& snapshot);

/// How long until one of them may be missed.
std::optional<kube::Duration> UntilDeadline(const Snapshot& snapshot);

}  // namespace freezepipe::reconciler
