#pragma once

#include <filesystem>
#include <string>

#include "freezepipe/v1alpha1/coordinator.pb.h"

namespace freezepipe::worker {

/// Completes the folder "step-<8 digits>.partial": writes checkpoint.json into it and renames it,
/// both durably, then deletes all but the `keep` newest complete checkpoints up to this step, those
/// of later steps (a run that went on from before them left them, since they are damaged), and what
/// is unfinished of older steps. Nothing is left to do where it was completed before. Throws
/// std::runtime_error naming the file.
void CompleteCheckpoint(const std::filesystem::path& checkpoints,
                        const v1alpha1::CheckpointIndex& index, int keep);

/// Why this process can't write checkpoints there; empty if it can. Makes the folder.
std::string WhyNotWritable(const std::filesystem::path& checkpoints);

/// The newest complete checkpoint whose files are sound, and the older ones.
v1alpha1::CheckpointFound FindCheckpoint(const std::filesystem::path& checkpoints);

}  // namespace freezepipe::worker
