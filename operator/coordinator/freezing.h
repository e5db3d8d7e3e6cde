#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

// How a freeze comes to be; at most one is on its way at a time.
//
//   1. a window is whole: the policy chooses; the entry joins the freeze log
//   2. the log is durable: ScheduleFreeze to the lead
//   3. the lead puts it into a step's header and answers, perhaps with later steps
//   4. training passes frozenAt: the layers are frozen, and the partition is thought over

/// Step 1, after the newest window.
void DecideFreeze(SessionState& state);

/// Step 2.
void OnFreezeRecorded(SessionState& state);

/// Sends the outstanding freeze to whoever leads, unless it was sent there or a switch of leads is
/// under way.
void RouteFreeze(SessionState& state);

/// Sends it again to a worker that was told before its stream broke.
void RepeatFreeze(SessionState& state, int worker);

/// Step 3. Also from a checkpoint's log, when the answer itself was lost.
void ConfirmFreeze(SessionState& state, const v1alpha1::FreezeLogEntry& entry);

/// Instead of step 3: the run has too few steps left for the freeze to take effect.
void OnFreezeTooLate(SessionState& state, const v1alpha1::FreezeTooLate& said);

/// Takes the outstanding freeze, if there is one, out of the log: training ended without it.
void MissOutstandingFreeze(SessionState& state);

/// Step 4: notices for the freezes that the known step has passed.
void SayFreezes(SessionState& state);

}  // namespace freezepipe::coordinator
