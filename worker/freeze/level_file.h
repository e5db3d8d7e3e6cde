#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace freezepipe::worker {

/// How every row of a level lies in memory. Types are LibTorch's numbers of them.
struct RowShape {
  static constexpr int kMostDims = 8;

  int32_t type = 0;    // as computed
  int32_t stored = 0;  // as kept
  int32_t dims = 0;
  std::array<int64_t, kMostDims> sizes{}, strides{};  // without the rows' dimension; 0 behind dims
  int64_t bytes = 0;                                  // as kept

  bool operator==(const RowShape&) const = default;
};

/// A row a key in a file that several processes have mapped at once. A row that is there stays as
/// it is, and the file's memory lives as long as a process has it mapped, also after it was
/// removed. Blocks are allocated before they are touched, so that a full disk or tmpfs is an error
/// and no signal.
class LevelFile {
 public:
  /// Of a whole file.
  static int64_t BytesOf(const RowShape& shape, int64_t keys);
  /// Without rows, under this name at once and whole. Null if there is no room. One process at a
  /// time in a folder.
  static std::unique_ptr<LevelFile> Make(const std::filesystem::path& path, const RowShape& shape,
                                         int64_t keys);
  /// Null if there is none.
  static std::unique_ptr<LevelFile> Open(const std::filesystem::path& path);
  ~LevelFile();
  LevelFile(const LevelFile&) = delete;
  LevelFile& operator=(const LevelFile&) = delete;

  const RowShape& shape() const;
  int64_t bytes() const { return bytes_; }
  /// Rows of all keys are there.
  bool full() const;
  /// No other process can open it any more.
  void Remove() const;
  bool removed() const;

  bool Has(int64_t key) const;
  /// Of a key that it has.
  void* Row(int64_t key) const;
  /// Room for a row to be written; null if the disk is full.
  void* Allocate(int64_t key);
  /// The row is written. Two processes may write the same row, since they write the same.
  void Publish(int64_t key);
  /// Has the row read ahead from disk.
  void WillNeed(int64_t key) const;

 private:
  struct Head;
  LevelFile(std::filesystem::path path, int descriptor, void* start, int64_t bytes)
      : path_(std::move(path)), descriptor_(descriptor), start_(start), bytes_(bytes) {}

  static std::unique_ptr<LevelFile> Map(const std::filesystem::path& path, int descriptor);
  Head& head() const;
  int64_t OffsetOf(int64_t key) const;
  uint8_t& Flag(int64_t key) const;

  const std::filesystem::path path_;
  const int descriptor_;
  void* const start_;
  const int64_t bytes_;
};

}  // namespace freezepipe::worker
