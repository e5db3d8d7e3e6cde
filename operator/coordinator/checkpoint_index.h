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
/// both durably, then deletes all but the `keep` newest complete checkpoints up to this step, those
/// of later steps (a run that went on from before them left them, since they are damaged), and what
/// is unfinished of older steps.
absl::Status CompleteCheckpointFolder(const std::string& directory,
                                      const v1alpha1::CheckpointIndex& index, int keep);

/// A folder that was a complete checkpoint once.
struct CheckpointFolder {
  int step = 0;
  std::string path;
};

/// All of a directory, newest first.
std::vector<CheckpointFolder> FindCheckpoints(const std::string& directory);

/// What its checkpoint.json says; DataLoss naming the file when that can't be read.
absl::StatusOr<v1alpha1::CheckpointIndex> ReadCheckpointIndex(const CheckpointFolder& folder);

}  // namespace freezepipe::coordinator
