#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "operator/coordinator/job_session.h"

namespace freezepipe::cli {

/// A folder that was a complete checkpoint once.
struct CheckpointFolder {
  int step = 0;
  std::string path;
};

/// All of a directory, newest first.
std::vector<CheckpointFolder> FindCheckpoints(const std::string& directory);

/// What its checkpoint.json says; DataLoss naming the file when that can't be read.
absl::StatusOr<v1alpha1::CheckpointIndex> ReadCheckpointIndex(const CheckpointFolder& folder);

/// What a job goes on with from a checkpoint.
coordinator::JobSetup::Resume MakeResume(const v1alpha1::CheckpointIndex& index);

}  // namespace freezepipe::cli
