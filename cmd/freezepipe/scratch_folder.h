#pragma once

#include <absl/status/statusor.h>

#include <filesystem>
#include <memory>

namespace freezepipe::cli {

/// A folder for what is of use while this process lives alone. It is removed with this object; one
/// whose process was killed is removed by the next process that makes one beside it.
class ScratchFolder {
 public:
  /// A new folder in `parent`, for this user's processes.
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make(const std::filesystem::path& parent);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  ScratchFolder(std::filesystem::path path, int lock_fd)
      : path_(std::move(path)), lock_fd_(lock_fd) {}

  const std::filesystem::path path_;
  /// Locked while this process lives.
  const int lock_fd_;
};

}  // namespace freezepipe::cli
