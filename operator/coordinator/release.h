#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

/// Tells a worker that holds nothing to go.
void ReleaseWorker(SessionState& state, int worker);

/// It said Released, or its process is gone: the notice, once.
void OnReleased(SessionState& state, int worker);

/// Ends released workers that do not go.
void EnforceRelease(SessionState& state);

}  // namespace freezepipe::coordinator
