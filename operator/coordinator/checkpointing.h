#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

// A checkpoint, beside training.
//
//   1. CheckpointWritten from replica 0 of every stage: all layers are on disk
//   2. CompleteCheckpoint to the lead, again when it comes back
//   3. CheckpointCompleted: it counts
//
// If the worker of step 2 is lost, another that is there goes on with it; if there is none, or it
// was lost for taking too long, the checkpoint is given up, and an older one counts. A restart
// waits for step 3, since the checkpoint is of the history that it goes on with.

/// Step 1, and 2 when it was the last.
void OnCheckpointWritten(SessionState& state, const v1alpha1::CheckpointWritten& written);

/// Step 2 again, to a worker that was away.
void RepeatCompletions(SessionState& state, int worker);

/// Step 3.
void OnCheckpointCompleted(SessionState& state, const v1alpha1::CheckpointCompleted& said);

/// Ends workers that take too long over step 2.
void EnforceCompletions(SessionState& state);

/// The worker is lost, or released and gone.
void HandCompletionsOn(SessionState& state, int lost);

}  // namespace freezepipe::coordinator
