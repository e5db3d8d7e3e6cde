#include "cmd/freezepipe/output_directory.h"

#include <absl/strings/str_cat.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "cmd/freezepipe/manifest_yaml.h"
#include "files/durable_file.h"

namespace freezepipe::cli {

namespace fs = std::filesystem;

OutputDirectory::~OutputDirectory() {
  if (lock_fd_ >= 0) close(lock_fd_);
}

absl::Status OutputDirectory::Check(bool resume) const {
  std::error_code error;
  const bool exists = fs::exists(path_, error);
  if (exists && !fs::is_directory(path_, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, " is not a folder: give another --output"));
  }
  if (resume) {
    if (fs::exists(manifest(), error)) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat(path_, " holds no run to resume (there is no manifest.yaml in it)"));
  }
  for (const std::string& entry :
       {manifest(), events(), status(), summary(), weights(), checkpoints(), logs()}) {
    if (!fs::exists(entry, error)) continue;
    return absl::AlreadyExistsError(
        absl::StrCat(path_, " already holds a run (", fs::path(entry).filename().string(),
                     "): go on with it by --resume, or give another --output"));
  }
  return absl::OkStatus();
}

absl::Status OutputDirectory::Create(const v1alpha1::FreezePipeJob& job) {
  absl::Status filled = Fill(job);
  if (!filled.ok()) RemoveWhatWasMade();
  return filled;
}

absl::Status OutputDirectory::Fill(const v1alpha1::FreezePipeJob& job) {
  for (const std::string& folder : {path_, checkpoints(), logs()}) {
    if (absl::Status made = MakeFolder(folder); !made.ok()) return made;
    if (folder != path_) continue;
    if (absl::Status locked = Lock(); !locked.ok()) return locked;
  }
  return files::WriteDurably(manifest(), {ToYaml(job)});
}

absl::Status OutputDirectory::MakeFolder(const std::string& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return absl::OkStatus();
  const std::string parent = fs::path(folder).parent_path();
  if (!parent.empty() && parent != folder) {
    if (absl::Status made = MakeFolder(parent); !made.ok()) return made;
  }
  if (fs::create_directory(folder, error)) made_.push_back(folder);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot make the folder ", folder, ": ", error.message()));
}

absl::Status OutputDirectory::Lock() {
  lock_fd_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_fd_ < 0) {
    return absl::UnavailableError(absl::StrCat("cannot open ", path_, ": ", strerror(errno)));
  }
  if (flock(lock_fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("another run is writing to ", path_, " now"));
}

void OutputDirectory::RemoveWhatWasMade() {
  std::error_code ignored;
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) fs::remove(*folder, ignored);
  made_.clear();
}

}  // namespace freezepipe::cli
