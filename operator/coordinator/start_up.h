#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

/// Launches every worker.
void StartJob(SessionState& state);

/// Goes from attaching to profiling, and to the first plan, once what it waits for is there.
void ContinueStartUp(SessionState& state);

void OnProfile(SessionState& state, int worker, const v1alpha1::ProfileReport& report);

/// To the worker that measures the layers.
void SendProfile(SessionState& state);

/// The worker that measures the layers.
int ProfilingWorker(const SessionState& state);

}  // namespace freezepipe::coordinator
