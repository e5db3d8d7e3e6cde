#pragma once

#include <absl/status/statusor.h>

#include <string>

namespace freezepipe::kube {

/// The whole file. Errors name it and say what the system says.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace freezepipe::kube
