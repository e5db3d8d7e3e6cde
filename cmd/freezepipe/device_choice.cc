#include "cmd/freezepipe/device_choice.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

namespace freezepipe::cli {

absl::StatusOr<std::vector<std::string>> ChooseDevices(const std::string& wanted,
                                                       const std::vector<std::string>& found,
                                                       int workers) {
  std::vector<std::string> cuda;
  for (const std::string& device : found) {
    if (absl::StartsWith(device, "cuda")) cuda.push_back(device);
  }
  if (wanted == "cuda" && cuda.empty()) return absl::NotFoundError("no CUDA device found");
  const bool enough = cuda.size() >= static_cast<size_t>(workers);
  if (wanted == "cuda" && !enough) {
    return absl::NotFoundError(absl::StrCat(
        "spec.worker.count: ", workers, " workers want a CUDA device each, found ", cuda.size()));
  }
  if (wanted == "cpu" || !enough) return std::vector<std::string>(workers, "cpu");
  cuda.resize(workers);
  return cuda;
}

}  // namespace freezepipe::cli
