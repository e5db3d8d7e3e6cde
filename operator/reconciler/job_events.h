#pragma once

#include <absl/status/status.h>

#include <optional>
#include <string_view>

#include "freezepipe/v1alpha1/report.pb.h"
#include "operator/kube/event_series.h"

namespace freezepipe::reconciler {

/// What a person reads of it in `kubectl describe`; nothing for what happens all the time.
std::optional<kube::EventText> ToEventText(const v1alpha1::JobEvent& event);

/// A warning for what Explain splits: "Unschedulable: no GPU" has that reason, else `otherwise`.
kube::EventText WarningOf(std::string_view why, std::string_view otherwise, const char* action);

/// The API server, or a policy or quota of the namespace, doesn't take a worker's pod.
kube::EventText PodRefused(int worker, const absl::Status& error);

}  // namespace freezepipe::reconciler
