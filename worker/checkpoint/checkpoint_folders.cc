#include "worker/checkpoint/checkpoint_folders.h"

#include <google/protobuf/util/json_util.h>

#include <charconv>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "worker/checkpoint/checkpoint_files.h"
#include "worker/checkpoint/durable_file.h"

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

/// Folders of checkpoints by step, newest first.
using Folders = std::map<int, fs::path, std::greater<>>;

Folders FindFolders(const fs::path& checkpoints, std::string_view suffix) {
  Folders folders;
  std::error_code error;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string_view digits = name;
    if (!digits.starts_with(kPrefix) || !digits.ends_with(suffix)) continue;
    digits.remove_prefix(kPrefix.size());
    digits.remove_suffix(suffix.size());
    int step = 0;
    const char* last = digits.data() + digits.size();
    const auto [parsed, failed] = std::from_chars(digits.data(), last, step);
    if (failed == std::errc() && parsed == last) folders.emplace(step, entry->path());
  }
  return folders;
}

/// What can't be deleted is only left behind.
void Prune(const fs::path& checkpoints, int newest_step, int keep) {
  std::error_code ignored;
  int kept = 0;
  for (const auto& [step, folder] : FindFolders(checkpoints, "")) {
    if (step > newest_step || ++kept > keep) fs::remove_all(folder, ignored);
  }
  for (const auto& [step, folder] : FindFolders(checkpoints, kPartialSuffix)) {
    if (step < newest_step) fs::remove_all(folder, ignored);
  }
}

/// It was completed before, and is there or was pruned for newer ones.
bool WasCompleted(const fs::path& checkpoints, int step) {
  if (fs::exists(PartialFolder(checkpoints, step))) return false;
  const auto complete = FindFolders(checkpoints, "");
  return !complete.empty() && complete.begin()->first >= step;
}

}  // namespace

void CompleteCheckpoint(const fs::path& checkpoints, const v1alpha1::CheckpointIndex& index,
                        int keep) {
  if (WasCompleted(checkpoints, index.step())) return;
  const fs::path whole = CheckpointFolder(checkpoints, index.step());
  const fs::path partial = PartialFolder(checkpoints, index.step());
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(index, &json);
  if (!printed.ok()) throw std::runtime_error(whole.string() + ": " + printed.ToString());
  WriteDurably(partial / kIndexFile, {json});
  // Left by a run that went on from before this step.
  fs::remove_all(whole);
  RenameDurably(partial, whole);
  Prune(checkpoints, index.step(), keep);
}

v1alpha1::CheckpointFound FindCheckpoint(const fs::path& checkpoints) {
  v1alpha1::CheckpointFound found;
  const auto folders = FindFolders(checkpoints, "");
  auto folder = folders.begin();
  for (; folder != folders.end(); ++folder) {
    const std::string damage = DamageOf(folder->second);
    if (damage.empty()) break;
    std::cerr << "damaged checkpoint left out: " << damage << std::endl;
  }
  if (folder == folders.end()) return found;
  *found.mutable_newest() = ReadCheckpointIndex(folder->second);
  for (auto older = folders.rbegin(); older->first < folder->first; ++older) {
    found.add_older_steps(older->first);
  }
  return found;
}

}  // namespace freezepipe::worker
