#include "cmd/freezepipe/scratch_folder.h"

#include <absl/status/status.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>

namespace freezepipe::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "freezepipe-cache-";

/// The folder's descriptor, with its lock; -1 if another process has that.
int OpenLocked(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  close(fd);
  return -1;
}

void RemoveAbandoned(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (!absl::StartsWith(entry.path().filename().string(), kPrefix)) continue;
    const int fd = OpenLocked(entry.path());
    if (fd < 0) continue;
    fs::remove_all(entry.path(), ignored);
    close(fd);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Make(const fs::path& parent) {
  RemoveAbandoned(parent);
  while (true) {
    std::string path = parent / absl::StrCat(kPrefix, "XXXXXX");
    if (mkdtemp(path.data()) == nullptr) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot make a folder in ", parent.string()));
    }
    const int fd = OpenLocked(path);
    if (fd < 0) continue;  // for a moment it looked abandoned to another process
    std::unique_ptr<ScratchFolder> folder(new ScratchFolder(path, fd));
    std::error_code ignored;
    if (fs::exists(path, ignored)) return folder;
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(lock_fd_);
}

}  // namespace freezepipe::cli
