#pragma once

#include <absl/status/statusor.h>

#include "freezepipe/v1alpha1/job.pb.h"
#include "operator/kube/object.h"
#include "operator/kube/time.h"
#include "operator/reconciler/conditions.h"

namespace freezepipe::reconciler {

/// What the job says under status; empty if nothing.
absl::StatusOr<v1alpha1::FreezePipeJobStatus> ReadStatus(const kube::Json& job);

/// A session's status with what the operator alone knows carried on from `before`: times,
/// conditions, numbers of workers, pods and nodes of workers, device seconds.
v1alpha1::FreezePipeJobStatus CarryOn(const v1alpha1::FreezePipeJobStatus& session,
                                      const v1alpha1::FreezePipeJobStatus& before);

/// Adds what goes with the state: the term, the job's generation, times and conditions.
void CompleteStatus(Pods pods, int term, int observed_generation, kube::WallTime now,
                    v1alpha1::FreezePipeJobStatus* status);

/// A merge patch that makes the job's status this one whole, if the job hasn't changed since.
kube::Json StatusPatch(const kube::Json& job, const v1alpha1::FreezePipeJobStatus& status);

/// Kubernetes' times have whole seconds.
google::protobuf::Timestamp ToTimestamp(kube::WallTime time);

}  // namespace freezepipe::reconciler
