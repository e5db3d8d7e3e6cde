#pragma once

#include <absl/status/statusor.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace freezepipe::worker {

/// A worker tells errors by exceptions, as LibTorch does: std::runtime_error with the status' text.
inline void OrThrow(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

template <typename T>
T OrThrow(absl::StatusOr<T> value) {
  OrThrow(value.status());
  return *std::move(value);
}

}  // namespace freezepipe::worker
