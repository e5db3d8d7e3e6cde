#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

// A worker was lost, or training stands still: all go on from the greatest step that every layer
// has a copy of.
//
//   1. Abort to the living; the lost ones are launched again
//   2. Aborted, with what they hold, from every living worker; Hello from the launched ones
//   3. the partition in force under a new number, or one for all that are back (see hand_over.h),
//   from the restore point (see restart.h)
//
// A worker lost on the way, at any moment, begins it anew.

/// The process is gone, or another took its place.
void OnWorkerLost(SessionState& state, int worker, const Loss& loss);

/// Step 1, for the living. Counts towards the limit of restarts, unless a disruption is the reason.
void BeginRecovery(SessionState& state, const std::string& why, bool disrupted = false);

void SendAbort(SessionState& state, int worker);

/// Step 2; unasked, it begins a recovery.
void OnAborted(SessionState& state, int worker, const v1alpha1::Aborted& said);

/// Step 3, once all are there.
void ContinueRecovery(SessionState& state);

/// Aborts training that stands still unsaid.
void EnforceProgress(SessionState& state);

/// Ends processes that are silent for too long.
void EnforcePresence(SessionState& state);

}  // namespace freezepipe::coordinator
