#pragma once

#include "operator/reconciler/snapshot.h"

namespace freezepipe::reconciler {

/// Adds to a session's status what is seen of its pods: how many workers there are and should be,
/// where they run, and why they don't.
void Observe(const Snapshot& snapshot, v1alpha1::FreezePipeJobStatus* status);

}  // namespace freezepipe::reconciler
