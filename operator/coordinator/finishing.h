#pragma once

#include <string>

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

// The job's end, whichever it is.
//
//   1. its last state is made durable
//   2. Exit to every worker
//   3. JobOver once all processes are gone; the last ones are ended by force

/// Step 1.
void Conclude(SessionState& state, v1alpha1::JobState::Type end, const std::string& message);

/// Step 2.
void OnEndRecorded(SessionState& state);

/// Step 3.
void ContinueExiting(SessionState& state);

void SendExit(SessionState& state, int worker);

/// Stops training where it is, with a checkpoint if it runs; the second time at once.
void OnStopRequested(SessionState& state);

/// Asks the lead to stop.
void StopTraining(SessionState& state);
void SendStop(SessionState& state);

/// Sends it again if training was told to stop: a lead that had just been started, or was away,
/// may not have got it.
void RepeatStop(SessionState& state);

void OnFinished(SessionState& state, int worker, const v1alpha1::Finished& said);

/// Concludes the job, whatever training waits for, if every member has finished.
void ContinueFinishing(SessionState& state);

/// True when every member has finished and the last checkpoint is complete: the job is concluded.
bool ConcludeIfFinished(SessionState& state);

void OnRecordFailed(SessionState& state, const std::string& why);

}  // namespace freezepipe::coordinator
