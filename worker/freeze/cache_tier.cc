#include "worker/freeze/cache_tier.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBlock = 512;  // of st_blocks

int64_t FreeOn(const fs::path& folder) {
  struct statvfs system {};
  if (statvfs(folder.c_str(), &system) != 0) return 0;
  return static_cast<int64_t>(system.f_bavail) * static_cast<int64_t>(system.f_frsize);
}

}  // namespace

CacheTier::CacheTier(fs::path folder, int64_t limit, Medium medium,
                     std::function<int64_t()> available)
    : folder_(std::move(folder)),
      limit_(limit),
      medium_(medium),
      available_(std::move(available)) {}

fs::path CacheTier::PathOf(const LevelName& name) const {
  char text[64];
  std::snprintf(text, sizeof(text), "level-%04d-%016" PRIx64, name.level, name.version);
  return folder_ / text;
}

std::vector<LevelName> CacheTier::List() const {
  std::vector<LevelName> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    LevelName name;
    const std::string text = entry.path().filename();
    if (std::sscanf(text.c_str(), "level-%d-%" SCNx64, &name.level, &name.version) == 2) {
      names.push_back(name);
    }
  }
  return names;
}

std::unique_ptr<LevelFile> CacheTier::Open(const LevelName& name) const {
  return LevelFile::Open(PathOf(name));
}

void CacheTier::Remove(const LevelName& name) const { unlink(PathOf(name).c_str()); }

std::shared_ptr<void> CacheTier::Lock() const {
  const int descriptor = open((folder_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  flock(descriptor, LOCK_EX);
  return {nullptr, [descriptor](void*) { close(descriptor); }};
}

int64_t CacheTier::Room(int64_t removed) const {
  int64_t taken = 0, to_come = 0;  // of the files; of that, what they haven't allocated yet
  for (const LevelName& name : List()) {
    struct stat file {};
    if (stat(PathOf(name).c_str(), &file) != 0) continue;
    taken += file.st_size;
    to_come += std::max<int64_t>(0, file.st_size - file.st_blocks * kBlock);
  }
  int64_t left = FreeOn(folder_) + removed;
  // Where there is less, as in a container, half of what is left.
  if (medium_ == Medium::kMemory) left = std::min(left, (available_() + removed) / 2);
  return std::min(limit_ - taken + removed, left - to_come);
}

std::unique_ptr<LevelFile> CacheTier::Make(const LevelName& name, const RowShape& shape,
                                           int64_t keys) const {
  if (LevelFile::BytesOf(shape, keys) > Room()) return nullptr;
  return LevelFile::Make(PathOf(name), shape, keys);
}

}  // namespace freezepipe::worker
