#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

/// Takes note of what the stages took in a window, and of how much they read from the activation
/// cache. If that has come to differ from what the plan in force was made by, the layers' times are
/// corrected, and another partition is thought over.
void WatchDrift(SessionState& state, const WholeWindow& window);

}  // namespace freezepipe::coordinator
