#include "files/checkpoint_layout.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

namespace freezepipe::files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

std::vector<FoundFolder> FindFolders(const fs::path& checkpoints, std::string_view suffix) {
  std::vector<FoundFolder> found;
  std::error_code error;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string_view digits = name;
    if (!digits.starts_with(kPrefix) || !digits.ends_with(suffix)) continue;
    digits.remove_prefix(kPrefix.size());
    digits.remove_suffix(suffix.size());
    int step = 0;
    if (absl::SimpleAtoi(std::string(digits), &step)) found.push_back({step, entry->path()});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& one, const auto& other) { return one.step > other.step; });
  return found;
}

}  // namespace

fs::path CheckpointFolder(const fs::path& checkpoints, int step) {
  return checkpoints / absl::StrFormat("%s%08d", std::string(kPrefix), step);
}

fs::path PartialFolder(const fs::path& checkpoints, int step) {
  return CheckpointFolder(checkpoints, step) += kPartialSuffix;
}

std::vector<FoundFolder> FindCheckpoints(const fs::path& checkpoints) {
  return FindFolders(checkpoints, "");
}

std::vector<FoundFolder> FindPartialCheckpoints(const fs::path& checkpoints) {
  return FindFolders(checkpoints, kPartialSuffix);
}

absl::StatusOr<v1alpha1::CheckpointIndex> ReadCheckpointIndex(const fs::path& checkpoint) {
  const fs::path file = checkpoint / kIndexFile;
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

}  // namespace freezepipe::files
