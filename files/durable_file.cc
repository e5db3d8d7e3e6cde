#include "files/durable_file.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>

namespace freezepipe::files {
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

bool WriteAll(int descriptor, std::string_view piece) {
  while (!piece.empty()) {
    const ssize_t written = write(descriptor, piece.data(), piece.size());
    if (written >= 0) {
      piece.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

absl::Status WriteAndSync(const std::filesystem::path& file,
                          const std::vector<std::string_view>& pieces) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return ErrnoOf("cannot create", file);
  absl::Cleanup closer = [descriptor] { close(descriptor); };
  for (const std::string_view piece : pieces) {
    if (!WriteAll(descriptor, piece)) return ErrnoOf("cannot write", file);
  }
  if (fsync(descriptor) != 0) return ErrnoOf("cannot sync", file);
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteDurably(const std::filesystem::path& file,
                          const std::vector<std::string_view>& pieces) {
  // Processes of several machines, which may have the same number there, never write into one.
  const std::filesystem::path fresh =
      absl::StrFormat("%s.tmp.%08x", file.string(), std::random_device()());
  absl::Status status = WriteAndSync(fresh, pieces);
  if (status.ok()) status = RenameDurably(fresh, file);
  if (!status.ok()) unlink(fresh.c_str());
  return status;
}

absl::Status RenameDurably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return ErrnoOf("cannot rename to", to);
  const std::filesystem::path folder = to.parent_path();
  return SyncFolder(folder.empty() ? "." : folder);
}

}  // namespace freezepipe::files
