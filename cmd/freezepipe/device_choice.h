#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

namespace freezepipe::cli {

/// The device of each worker, for `wanted` "cpu", "cuda" or "auto" (CUDA where there is one for
/// each worker), among the `found` ones ("cpu", "cuda:0", ...). NCCL wants a CUDA device for each
/// worker.
absl::StatusOr<std::vector<std::string>> ChooseDevices(const std::string& wanted,
                                                       const std::vector<std::string>& found,
                                                       int workers);

}  // namespace freezepipe::cli
