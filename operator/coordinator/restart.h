#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

// Training stands still and starts at a step: the first start, a resumed job and every recovery
// alike.
//
//   1. choose the restore point from what the living hold and the newest checkpoint
//   2. go back to it: freeze log, windows, known step
//   3. Prepare, with where every layer comes from, to every member
//   4. all Prepared: durable record of the generation
//   5. Start to every member; Release to workers without a layer

/// Steps 1 to 3. `lost`: why a worker was lost; empty at the first start.
void PrepareRestart(SessionState& state, v1alpha1::Plan plan, const std::string& lost);

/// The Prepare of state.next, live or not.
void SendPrepare(SessionState& state, int worker);

/// Step 4, once all are prepared.
void ContinueRestart(SessionState& state);

/// Step 5.
void OnStartRecorded(SessionState& state, int generation);

void SendStart(SessionState& state, int worker);

}  // namespace freezepipe::coordinator
