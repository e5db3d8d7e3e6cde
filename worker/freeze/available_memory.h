#pragma once

#include <cstdint>
#include <filesystem>

namespace freezepipe::worker {

/// Bytes that this process may still take: what the machine has available, or less where a
/// container's limit (cgroup v1 or v2) leaves less. `root`: where /proc and /sys are.
int64_t AvailableMemory(const std::filesystem::path& root = "/");

}  // namespace freezepipe::worker
