#include "cmd/freezepipe/device_choice.h"

#include <absl/strings/match.h>

namespace freezepipe::cli {

absl::StatusOr<std::vector<std::string>> ChooseDevices(const std::string& wanted,
                                                       const std::vector<std::string>& found,
                                                       int workers) {
  std::vector<std::string> cuda;
  for (const std::string& device : found) {
    if (absl::StartsWith(device, "cuda")) cuda.push_back(device);
  }
  if (wanted == "cuda" && cuda.empty()) return absl::NotFoundError("no CUDA device found");
  if (wanted == "cpu" || cuda.empty()) return std::vector<std::string>(workers, "cpu");
  std::vector<std::string> devices;
  for (int worker = 0; worker < workers; ++worker) devices.push_back(cuda[worker % cuda.size()]);
  return devices;
}

}  // namespace freezepipe::cli
