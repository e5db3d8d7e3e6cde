#pragma once

#include <absl/status/statusor.h>

#include <optional>

#include "freezepipe/v1alpha1/plan.pb.h"
#include "operator/kube/client.h"

namespace freezepipe::reconciler {

/// What a describe pod (MakeDescribePod) found out, from its log; nothing while it runs. Faults of
/// the job are in the answer. Errors: kFailedPrecondition if the pod failed or its answer isn't
/// one, with its last words; those of the client.
absl::StatusOr<std::optional<v1alpha1::JobDescription>> ReadDescription(kube::Client& client,
                                                                        const kube::Json& pod);

}  // namespace freezepipe::reconciler
