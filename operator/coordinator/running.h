#pragma once

#include "operator/coordinator/session_state.h"

namespace freezepipe::coordinator {

/// What is due while training goes on: notices of freezes, a repartition, a stop.
void ContinueRunning(SessionState& state);

/// Training is known to have done this many steps.
void AdvanceTo(SessionState& state, int step);

void OnStepReport(SessionState& state, const v1alpha1::StepReport& report);
void OnWindowReport(SessionState& state, const v1alpha1::WindowReport& report);
void OnCacheTooSlow(SessionState& state, int worker, const v1alpha1::CacheTooSlow& report);
void OnEvaluation(SessionState& state, const v1alpha1::EvaluationReport& report);

}  // namespace freezepipe::coordinator
