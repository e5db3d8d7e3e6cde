#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

/// What an attached worker says; kept for later while the session takes over.
void Hear(SessionState& state, int worker, const v1alpha1::WorkerMessage& message);

/// What the session does of it.
void OnSaid(SessionState& state, int worker, const v1alpha1::WorkerMessage& message);

}  // namespace freezepipe::coordinator
