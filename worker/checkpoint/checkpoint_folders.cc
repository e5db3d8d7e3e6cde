#include "worker/checkpoint/checkpoint_folders.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "files/checkpoint_layout.h"
#include "files/durable_file.h"
#include "worker/checkpoint/checkpoint_files.h"
#include "worker/checkpoint/or_throw.h"

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;

/// What can't be deleted is only left behind.
void Prune(const fs::path& checkpoints, int newest_step, int keep) {
  std::error_code ignored;
  int kept = 0;
  for (const auto& [step, folder] : files::FindCheckpoints(checkpoints)) {
    if (step > newest_step || ++kept > keep) fs::remove_all(folder, ignored);
  }
  for (const auto& [step, folder] : files::FindPartialCheckpoints(checkpoints)) {
    if (step < newest_step) fs::remove_all(folder, ignored);
  }
}

/// It was completed before, and is there or was pruned for newer ones.
bool WasCompleted(const fs::path& checkpoints, int step) {
  if (fs::exists(files::PartialFolder(checkpoints, step))) return false;
  const auto complete = files::FindCheckpoints(checkpoints);
  return !complete.empty() && complete.front().step >= step;
}

}  // namespace

void CompleteCheckpoint(const fs::path& checkpoints, const v1alpha1::CheckpointIndex& index,
                        int keep) {
  if (WasCompleted(checkpoints, index.step())) return;
  const fs::path whole = files::CheckpointFolder(checkpoints, index.step());
  const fs::path partial = files::PartialFolder(checkpoints, index.step());
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(index, &json);
  if (!printed.ok()) throw std::runtime_error(whole.string() + ": " + printed.ToString());
  OrThrow(files::WriteDurably(partial / files::kIndexFile, {json}));
  // Left by a run that went on from before this step.
  fs::remove_all(whole);
  OrThrow(files::RenameDurably(partial, whole));
  Prune(checkpoints, index.step(), keep);
}

std::string WhyNotWritable(const fs::path& checkpoints) {
  std::error_code error;
  fs::create_directories(checkpoints, error);
  if (error) return "cannot create " + checkpoints.string() + ": " + error.message();
  const fs::path probe = checkpoints / ".writable";
  const absl::Status written = files::WriteDurably(probe, {""});
  fs::remove(probe, error);
  return std::string(written.message());
}

v1alpha1::CheckpointFound FindCheckpoint(const fs::path& checkpoints) {
  v1alpha1::CheckpointFound found;
  const auto folders = files::FindCheckpoints(checkpoints);
  const auto sound = std::find_if(folders.begin(), folders.end(), [](const auto& folder) {
    const std::string damage = DamageOf(folder.path);
    if (!damage.empty()) std::cerr << "damaged checkpoint left out: " << damage << std::endl;
    return damage.empty();
  });
  if (sound == folders.end()) return found;
  *found.mutable_newest() = OrThrow(files::ReadCheckpointIndex(sound->path));
  std::for_each(std::make_reverse_iterator(folders.end()), std::make_reverse_iterator(sound + 1),
                [&](const auto& older) { found.add_older_steps(older.step); });
  return found;
}

}  // namespace freezepipe::worker
