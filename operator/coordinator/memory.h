#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

// What the session measured and decides by is kept in the workers' memory, for a coordinator that
// takes its place with nothing but the durable record.

/// To every worker of the plan in force, after a whole window.
void RememberWindow(SessionState& state);

/// Everything, to one worker.
void RememberAll(SessionState& state, int worker);

/// Everything, unless its Hello says that it has it.
void RememberIfBehind(SessionState& state, int worker);

/// Takes over what the job amounts to, if a worker's Hello tells it.
void TakeDescription(SessionState& state);

/// Takes over the newest of the rest that the workers' Hellos tell.
void TakeMemory(SessionState& state);

}  // namespace freezepipe::coordinator
