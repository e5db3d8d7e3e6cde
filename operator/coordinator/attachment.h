#pragma once

#include <string>

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

/// A stream opened: Welcome, and whatever the worker may have missed.
void OnAttached(SessionState& state, const v1alpha1::Hello& hello);

void OnStreamLost(SessionState& state, int worker);

void OnWorkerGone(SessionState& state, int worker, const Loss& loss);

}  // namespace freezepipe::coordinator
