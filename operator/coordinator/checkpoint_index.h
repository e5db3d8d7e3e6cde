#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "operator/coordinator/job_session.h"

namespace freezepipe::coordinator {

/// What checkpoint.json says of a checkpoint.
v1alpha1::CheckpointIndex MakeCheckpointIndex(const CompleteCheckpoint& checkpoint,
                                              const std::vector<std::string>& layer_names);

/// What a job goes on with from a checkpoint.
JobSetup::Resume MakeResume(const v1alpha1::CheckpointIndex& index);

/// Completes the folder "step-<8 digits>.partial": writes checkpoint.json into it and renames it,
/// both durably, then deletes all but the `keep` newest complete checkpoints and what is unfinished
/// of older steps.
absl::Status CompleteCheckpointFolder(const std::string& directory,
                                      const v1alpha1::CheckpointIndex& index, int keep);

/// Newest complete checkpoint of the folder whose checkpoint.json can be read. NotFound when there
/// is none, DataLoss when there are some and none can be read.
absl::StatusOr<v1alpha1::CheckpointIndex> ReadNewestCheckpoint(const std::string& directory);

}  // namespace freezepipe::coordinator
