#include "worker/freeze/level_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <new>

namespace freezepipe::worker {

/// At the start of the file. A flag a key follows, then the rows.
struct LevelFile::Head {
  RowShape shape;
  int64_t keys = 0;
  std::atomic<int64_t> rows{0};
};

namespace {

static_assert(std::atomic<int64_t>::is_always_lock_free);
static_assert(std::atomic_ref<uint8_t>::is_always_lock_free);

constexpr int64_t kPage = 4096;
/// As LibTorch aligns tensors.
constexpr int64_t kRowAlignment = 64;

int64_t RoundUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }
int64_t Pitch(const RowShape& shape) { return RoundUp(shape.bytes, kRowAlignment); }
int64_t RowsBegin(int64_t keys) { return kPage + RoundUp(keys, kPage); }

}  // namespace

int64_t LevelFile::BytesOf(const RowShape& shape, int64_t keys) {
  return RoundUp(RowsBegin(keys) + keys * Pitch(shape), kPage);
}

std::unique_ptr<LevelFile> LevelFile::Make(const std::filesystem::path& path, const RowShape& shape,
                                           int64_t keys) {
  static_assert(sizeof(Head) <= kPage);
  // One that a killed process left half made under this name was never anybody else's.
  const auto fresh = path.parent_path() / "new";
  const int descriptor = open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return nullptr;
  if (ftruncate(descriptor, BytesOf(shape, keys)) != 0 ||
      fallocate(descriptor, 0, 0, RowsBegin(keys)) != 0) {
    unlink(fresh.c_str());
    close(descriptor);
    return nullptr;
  }
  auto file = Map(path, descriptor);
  if (file == nullptr) return nullptr;
  new (file->start_) Head{.shape = shape, .keys = keys};
  return std::rename(fresh.c_str(), path.c_str()) == 0 ? std::move(file) : nullptr;
}

std::unique_ptr<LevelFile> LevelFile::Open(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  return descriptor < 0 ? nullptr : Map(path, descriptor);
}

std::unique_ptr<LevelFile> LevelFile::Map(const std::filesystem::path& path, int descriptor) {
  struct stat file {};
  void* start = MAP_FAILED;
  if (fstat(descriptor, &file) == 0 && file.st_size > 0) {
    start = mmap(nullptr, file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (start == MAP_FAILED) {
    close(descriptor);
    return nullptr;
  }
  return std::unique_ptr<LevelFile>(new LevelFile(path, descriptor, start, file.st_size));
}

LevelFile::~LevelFile() {
  munmap(start_, bytes_);
  close(descriptor_);
}

LevelFile::Head& LevelFile::head() const { return *static_cast<Head*>(start_); }
const RowShape& LevelFile::shape() const { return head().shape; }
bool LevelFile::full() const { return head().rows >= head().keys; }
void LevelFile::Remove() const { unlink(path_.c_str()); }

bool LevelFile::removed() const {
  struct stat file {};
  return fstat(descriptor_, &file) != 0 || file.st_nlink == 0;
}

int64_t LevelFile::OffsetOf(int64_t key) const {
  return RowsBegin(head().keys) + key * Pitch(head().shape);
}

uint8_t& LevelFile::Flag(int64_t key) const { return static_cast<uint8_t*>(start_)[kPage + key]; }

bool LevelFile::Has(int64_t key) const {
  return std::atomic_ref(Flag(key)).load(std::memory_order_acquire) != 0;
}

void* LevelFile::Row(int64_t key) const { return static_cast<char*>(start_) + OffsetOf(key); }

void* LevelFile::Allocate(int64_t key) {
  const int64_t offset = OffsetOf(key);
  if (fallocate(descriptor_, 0, offset, Pitch(head().shape)) != 0) return nullptr;
  return static_cast<char*>(start_) + offset;
}

void LevelFile::Publish(int64_t key) {
  if (std::atomic_ref(Flag(key)).exchange(1, std::memory_order_release) == 0) ++head().rows;
}

void LevelFile::WillNeed(int64_t key) const {
  const int64_t offset = OffsetOf(key) / kPage * kPage;
  madvise(static_cast<char*>(start_) + offset, OffsetOf(key + 1) - offset, MADV_WILLNEED);
}

}  // namespace freezepipe::worker
