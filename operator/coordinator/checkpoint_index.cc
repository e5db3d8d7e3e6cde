#include "operator/coordinator/checkpoint_index.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <system_error>

#include "operator/coordinator/durable_file.h"

namespace freezepipe::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kPartialSuffix = ".partial";
constexpr std::string_view kIndexFile = "checkpoint.json";

std::string FolderName(int step) { return absl::StrFormat("step-%08d", step); }

/// Folders of checkpoints by step, newest first.
using Folders = std::map<int, fs::path, std::greater<>>;

Folders FindFolders(const fs::path& directory, std::string_view suffix) {
  Folders folders;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string_view digits = name;
    if (!digits.starts_with(kPrefix) || !digits.ends_with(suffix)) continue;
    digits.remove_prefix(kPrefix.size());
    digits.remove_suffix(suffix.size());
    int step = 0;
    if (absl::SimpleAtoi(std::string(digits), &step)) folders.emplace(step, entry->path());
  }
  return folders;
}

/// What can't be deleted is only left behind.
void Prune(const fs::path& directory, int newest_step, int keep) {
  std::error_code ignored;
  int kept = 0;
  for (const auto& [step, folder] : FindFolders(directory, "")) {
    if (step > newest_step || ++kept > keep) fs::remove_all(folder, ignored);
  }
  for (const auto& [step, folder] : FindFolders(directory, kPartialSuffix)) {
    if (step < newest_step) fs::remove_all(folder, ignored);
  }
}

}  // namespace

v1alpha1::CheckpointIndex MakeCheckpointIndex(const CompleteCheckpoint& checkpoint,
                                              const std::vector<std::string>& layer_names) {
  v1alpha1::CheckpointIndex index;
  index.set_step(checkpoint.step);
  index.mutable_layers()->Assign(layer_names.begin(), layer_names.end());
  index.mutable_freeze_log()->Assign(checkpoint.freeze_log.begin(), checkpoint.freeze_log.end());
  for (const auto& window : checkpoint.windows) {
    auto* record = index.add_windows();
    record->set_step(window.step);
    record->set_loss(window.loss);
    record->set_learning_rate(window.learning_rate);
    record->mutable_values()->Assign(window.values.begin(), window.values.end());
  }
  return index;
}

JobSetup::Resume MakeResume(const v1alpha1::CheckpointIndex& index) {
  JobSetup::Resume resume;
  resume.step = index.step();
  resume.freeze_log.assign(index.freeze_log().begin(), index.freeze_log().end());
  for (const auto& record : index.windows()) {
    planner::WindowStatistics window;
    window.step = record.step();
    window.loss = record.loss();
    window.learning_rate = record.learning_rate();
    window.values.assign(record.values().begin(), record.values().end());
    resume.windows.push_back(std::move(window));
  }
  return resume;
}

absl::Status CompleteCheckpointFolder(const std::string& directory,
                                      const v1alpha1::CheckpointIndex& index, int keep) {
  const fs::path whole = fs::path(directory) / FolderName(index.step());
  const fs::path partial = whole.string() + std::string(kPartialSuffix);
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(index, &json);
  if (!printed.ok()) return absl::InternalError(printed.ToString());

  if (auto status = WriteDurably(partial / kIndexFile, json); !status.ok()) return status;
  // Left by a run that went on from before this step.
  std::error_code error;
  fs::remove_all(whole, error);
  if (error) return absl::InternalError(absl::StrCat(whole.string(), ": ", error.message()));
  if (auto status = RenameDurably(partial, whole); !status.ok()) return status;
  Prune(directory, index.step(), keep);
  return absl::OkStatus();
}

std::vector<CheckpointFolder> FindCheckpoints(const std::string& directory) {
  std::vector<CheckpointFolder> found;
  for (const auto& [step, path] : FindFolders(directory, "")) found.push_back({step, path});
  return found;
}

absl::StatusOr<v1alpha1::CheckpointIndex> ReadCheckpointIndex(const CheckpointFolder& folder) {
  const fs::path file = fs::path(folder.path) / kIndexFile;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return absl::DataLossError(absl::StrCat("cannot read ", file.string()));
  const std::string json{std::istreambuf_iterator<char>(stream), {}};
  v1alpha1::CheckpointIndex index;
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &index);
  if (!parsed.ok()) {
    return absl::DataLossError(absl::StrCat(file.string(), ": ", parsed.ToString()));
  }
  return index;
}

}  // namespace freezepipe::coordinator
