#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

/// Asks the first worker that is attached what the job's spec amounts to, if that isn't known and
/// nobody has been asked: long before all are there, so that a bad spec holds no devices.
void AskForDescription(SessionState& state);

void OnDescribed(SessionState& state, int worker, const v1alpha1::JobDescription& description);

/// The worker can't answer any more: another one is asked.
void OnDescriberAway(SessionState& state, int worker);

/// For a coordinator that takes this one's place, while training goes on.
void SendDescriptionToRemember(SessionState& state, int worker);

}  // namespace freezepipe::coordinator
