#include "cmd/freezepipe/durable_file.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace freezepipe::cli {
namespace {

absl::Status ErrnoOf(const char* what, const std::filesystem::path& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path.string()));
}

absl::Status SyncFolder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return ErrnoOf("cannot open", folder);
  absl::Cleanup closer = [descriptor] { close(descriptor); };
  if (fsync(descriptor) != 0) return ErrnoOf("cannot sync", folder);
  return absl::OkStatus();
}

absl::Status WriteAndSync(const std::filesystem::path& file, std::string_view content) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return ErrnoOf("cannot create", file);
  absl::Cleanup closer = [descriptor] { close(descriptor); };
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoOf("cannot write", file);
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (fsync(descriptor) != 0) return ErrnoOf("cannot sync", file);
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteDurably(const std::filesystem::path& file, std::string_view content) {
  const std::filesystem::path fresh = file.string() + ".tmp";
  if (auto status = WriteAndSync(fresh, content); !status.ok()) {
    unlink(fresh.c_str());
    return status;
  }
  return RenameDurably(fresh, file);
}

absl::Status RenameDurably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return ErrnoOf("cannot rename to", to);
  return SyncFolder(to.parent_path());
}

}  // namespace freezepipe::cli
