#pragma once

#include <optional>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "operator/kube/object.h"
#include "operator/kube/time.h"

namespace freezepipe::reconciler {

/// All that one reconciliation decides on. The policies are functions of it.
struct Snapshot {
  /// As the API server has it.
  kube::Object job;
  v1alpha1::FreezePipeJobSpec spec;
  /// Of the session if there is one, else as the job has it.
  v1alpha1::FreezePipeJobStatus status;
  /// All pods of the job, ended ones too.
  std::vector<kube::Object> pods;
  kube::WallTime now;
};

}  // namespace freezepipe::reconciler
