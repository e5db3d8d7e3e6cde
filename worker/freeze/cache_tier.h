#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "worker/freeze/level_file.h"

namespace freezepipe::worker {

/// A level with its weights. The *level* of an output is the end of the layers [0, level) that it
/// went through.
struct LevelName {
  int level = 0;
  uint64_t version = 0;

  auto operator<=>(const LevelName&) const = default;
};

/// A folder of level files that several processes use at once. What is in it, and how much of its
/// limit is taken, the folder alone says.
class CacheTier {
 public:
  enum class Medium { kMemory, kDisk };

  /// `limit`: of the files' sizes together, bytes. `available`: memory that may still be taken.
  CacheTier(std::filesystem::path folder, int64_t limit, Medium medium,
            std::function<int64_t()> available);

  Medium medium() const { return medium_; }
  std::vector<LevelName> List() const;
  /// Null if there is none.
  std::unique_ptr<LevelFile> Open(const LevelName& name) const;
  void Remove(const LevelName& name) const;

  /// Keeps other processes from making files until it is dropped.
  std::shared_ptr<void> Lock() const;
  /// Bytes that a new file may have, if files of so many bytes were removed before.
  int64_t Room(int64_t removed = 0) const;
  /// Null if there is no room. Locked.
  std::unique_ptr<LevelFile> Make(const LevelName& name, const RowShape& shape, int64_t keys) const;

 private:
  std::filesystem::path PathOf(const LevelName& name) const;

  std::filesystem::path folder_;
  int64_t limit_;
  Medium medium_;
  std::function<int64_t()> available_;
};

}  // namespace freezepipe::worker
