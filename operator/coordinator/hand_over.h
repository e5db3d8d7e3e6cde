#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

// A worker that somebody else wants to end (an eviction, a drained node) has some seconds left:
//
//   1. Terminating from it: another partition over those that stay, live (see repartition.h),
//   awaits it. If they have no room, the lead stops with a checkpoint, if there is a place for one
//   2. Exit to it, once nothing is left there; a new process is launched in its place
//   3. once the new process is there: a restart (see restart.h) with as many stages as before
//
// Training goes on in between. Who ends before 2. is a lost worker like any other.

void OnTerminating(SessionState& state, int worker);

/// Steps 1 to 3, while training runs. False if there is nothing of that to do.
bool ContinueHandOver(SessionState& state);

/// Sends Exit, once.
void Dismiss(SessionState& state, int worker);

/// Some member of the plan in force is to end.
bool MemberTerminates(const SessionState& state);

/// The plan in force under a new number; one with more stages, if that many workers are there.
v1alpha1::Plan PlanForRestart(SessionState& state);

}  // namespace freezepipe::coordinator
