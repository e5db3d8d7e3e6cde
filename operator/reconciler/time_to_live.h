#pragma once

#include <optional>

#include "operator/reconciler/snapshot.h"

namespace freezepipe::reconciler {

/// runPolicy.ttlSecondsAfterFinished: how long until the job that is over is to be deleted; zero or
/// less when it is due, nothing if never.
std::optional<kube::Duration> TimeToLive(const Snapshot& snapshot);

}  // namespace freezepipe::reconciler
