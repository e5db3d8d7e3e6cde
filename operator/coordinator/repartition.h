#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

// From generation g to g+1 while training goes on.
//
//   1. Prepare, live, to everyone in g or g+1: groups form and frozen layers travel in the
//   background
//   2. all Prepared: Switch to g's lead. Until then anyone who can't makes the coordinator Drop g+1
//   3. the lead's SwitchScheduled names the step S; Switched from everyone once S-1 is done and the
//   layers moved
//   4. Settled from everyone in g+1 once S is done: durable record of {g+1, S}
//   5. Retire to g+1: older copies may go; Release to those without a layer

/// Step 1, if the planner finds another partition worth it.
void ConsiderRepartition(SessionState& state);

/// Step 1, for this plan.
void BeginRepartition(SessionState& state, v1alpha1::Plan plan, const std::string& why);

/// In words.
std::string WhyRepartition(const SessionState& state, int boundary);

/// Step 2.
void ContinuePreparingLive(SessionState& state);
void DropRepartition(SessionState& state, const std::string& why);
void SendSwitch(SessionState& state);

/// Steps 3 and 4.
void OnSwitchScheduled(SessionState& state, int worker, const v1alpha1::SwitchScheduled& said);
void OnSwitched(SessionState& state, int worker, const v1alpha1::Switched& said);
void OnSettled(SessionState& state, int worker, const v1alpha1::Settled& said);

/// Step 5.
void OnSettledRecorded(SessionState& state, int generation);

/// Sends Retire again to a worker that was away.
void SendRetire(SessionState& state, int worker);

}  // namespace freezepipe::coordinator
