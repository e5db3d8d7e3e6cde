#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

// A coordinator takes the place of another, with the durable record alone, while training goes on.
//
//   1. every worker but the released ones is launched: nothing happens to one that lives
//   2. Hello from all: the plan each trains by, the one in preparation, the freeze log, the memory
//   3. a. all train by the recorded plan: go on with it; a generation in preparation is dropped if
//         the lead has not been told to switch to it
//      b. the lead has been told to switch, or some have switched: go on with the switch
//      c. anything else: recovery
//   4. what the workers have said meanwhile is heard
//
// Where training stood still when the other ended (suspended, or all workers lost), 3c goes on from
// the newest checkpoint with the workers of the record.

/// The record has a plan that this job can go on with.
bool CanTakeOver(const SessionState& state);

/// Step 1.
void BeginTakeOver(SessionState& state);

/// Steps 3 and 4, once all are there.
void ContinueTakeOver(SessionState& state);

/// True while the checkpoints have to be looked for, which it asks a worker to do: the record may
/// not name the newest. All workers stand still, attached.
bool AwaitCheckpoint(SessionState& state);
void SendFindCheckpoint(SessionState& state);
void OnCheckpointFound(SessionState& state, int worker, const v1alpha1::CheckpointFound& said);

}  // namespace freezepipe::coordinator
