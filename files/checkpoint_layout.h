#pragma once

#include <absl/status/statusor.h>

#include <filesystem>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.pb.h"

namespace freezepipe::files {

/// Its presence, in a folder without the suffix below, makes a checkpoint complete.
inline constexpr char kIndexFile[] = "checkpoint.json";
inline constexpr char kPartialSuffix[] = ".partial";

/// Folder of a step's checkpoint: "step-<8 digits>", and the one that it is written into.
std::filesystem::path CheckpointFolder(const std::filesystem::path& checkpoints, int step);
std::filesystem::path PartialFolder(const std::filesystem::path& checkpoints, int step);

struct FoundFolder {
  int step = 0;
  std::filesystem::path path;
};

/// Folders of checkpoints that were complete once, newest first; none where there is no folder.
std::vector<FoundFolder> FindCheckpoints(const std::filesystem::path& checkpoints);
/// Those that are being written, or were when a run ended.
std::vector<FoundFolder> FindPartialCheckpoints(const std::filesystem::path& checkpoints);

/// What a complete checkpoint's index says; DataLoss naming the file when that can't be read.
absl::StatusOr<v1alpha1::CheckpointIndex> ReadCheckpointIndex(
    const std::filesystem::path& checkpoint);

}  // namespace freezepipe::files
