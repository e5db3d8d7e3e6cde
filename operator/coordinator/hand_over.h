#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

// A worker that somebody else wants to end (an eviction, a drained node) has some seconds left:
//
//   1. Terminating from it: another partition over those that stay, live (see repartition.h),
//   awaits it. If they have no room, the lead stops with a checkpoint, if there is a place for one
//   2. Exit to it, once nothing is left there; a new process is launched in its place
//   3. once the new process is there: the lead stops, so that all stand at the same step, and a
//   restart (see restart.h) goes on from there with as many stages as before
//
// Training goes on in between. Who ends before 2. is a lost worker like any other.

void OnTerminating(SessionState& state, int worker);

/// Steps 1 to 3, while training runs. False if there is nothing of that to do.
bool ContinueHandOver(SessionState& state);

/// Training has stopped for it, every member after the same step: those that are to end exit, if
/// the others have no room, else those that are back get layers.
void OnStoppedForHandOver(SessionState& state);

/// Sends Exit, once.
void Dismiss(SessionState& state, int worker);

/// Whether training that was told to stop may have been for this, as far as the plan in force says.
bool MayStopForHandOver(const SessionState& state);

/// The plan in force under a new number; one with more stages, if that many workers are there.
v1alpha1::Plan PlanForRestart(SessionState& state);

}  // namespace freezepipe::coordinator
