#pragma once

#include <optional>

#include "freezepipe/v1alpha1/report.pb.h"
#include "operator/kube/event_series.h"

namespace freezepipe::reconciler {

/// What a person reads of it in `kubectl describe`; nothing for what happens all the time.
std::optional<kube::EventText> ToEventText(const v1alpha1::JobEvent& event);

}  // namespace freezepipe::reconciler
