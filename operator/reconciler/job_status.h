#pragma once

#include <absl/status/statusor.h>

#include "freezepipe/v1alpha1/job.pb.h"
#include "operator/kube/object.h"
#include "operator/kube/time.h"

namespace freezepipe::reconciler {

/// What the job says under status; empty if nothing.
absl::StatusOr<v1alpha1::FreezePipeJobStatus> ReadStatus(const kube::Json& job);

/// The session's status as it is to stand in the job: with the term, of the job's generation, its
/// start and completion times and conditions carried on from `before`.
v1alpha1::FreezePipeJobStatus CompleteStatus(const v1alpha1::FreezePipeJobStatus& session,
                                             const v1alpha1::FreezePipeJobStatus& before, int term,
                                             int observed_generation, kube::WallTime now);

/// A merge patch that makes the job's status this one whole, if the job hasn't changed since.
kube::Json StatusPatch(const kube::Json& job, const v1alpha1::FreezePipeJobStatus& status);

}  // namespace freezepipe::reconciler
