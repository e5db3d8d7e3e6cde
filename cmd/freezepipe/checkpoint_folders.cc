#include "cmd/freezepipe/checkpoint_folders.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <system_error>

#include "operator/coordinator/window_record.h"

namespace freezepipe::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kIndexFile = "checkpoint.json";

/// Folders of checkpoints by step, newest first.
using Folders = std::map<int, fs::path, std::greater<>>;

Folders FindFolders(const fs::path& directory) {
  Folders folders;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string_view digits = name;
    if (!digits.starts_with(kPrefix)) continue;
    digits.remove_prefix(kPrefix.size());
    int step = 0;
    if (absl::SimpleAtoi(std::string(digits), &step)) folders.emplace(step, entry->path());
  }
  return folders;
}

}  // namespace

std::vector<CheckpointFolder> FindCheckpoints(const std::string& directory) {
  std::vector<CheckpointFolder> found;
  for (const auto& [step, path] : FindFolders(directory)) found.push_back({step, path});
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

coordinator::JobSetup::Resume MakeResume(const v1alpha1::CheckpointIndex& index) {
  coordinator::JobSetup::Resume resume;
  resume.step = index.step();
  resume.freeze_log.assign(index.freeze_log().begin(), index.freeze_log().end());
  for (const auto& record : index.windows()) {
    resume.windows.push_back(coordinator::FromRecord(record));
  }
  return resume;
}

}  // namespace freezepipe::cli
