#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "worker/freeze/cache_tier.h"
#include "worker/freeze/read_worth.h"

namespace freezepipe::worker {

/// What frozen layers put out for single samples, on CPUs, kept in files that all the job's workers
/// on a machine share. While the layers stay frozen it is a function of the sample alone, whichever
/// worker computes it. Not for several threads.
class ActivationCache {
 public:
  /// Outputs that are read more slowly than computed.
  struct TooSlow {
    int level = 0;
    ReadWorth::Medians seconds;  // a row
  };

  /// `keys`: so many samples (or views of samples) are asked for again and again. A level that
  /// wouldn't fit for all of them isn't kept: as a micro-batch is computed whole if one sample is
  /// missing, a part would be of no use. `tiers`: not empty, the best first. `type`: what outputs
  /// have been rounded to.
  ActivationCache(int64_t keys, std::vector<CacheTier> tiers, v1alpha1::CacheType::Type type);

  /// Layers [0, boundary) are frozen by the log, and [first, end) of them are this stage's; none if
  /// first == end. Drops what is of no use any more. All workers begin a step before one of them
  /// begins the next.
  void BeginStep(const std::vector<v1alpha1::FreezeLogEntry>& log, int boundary, int first,
                 int end);

  /// The highest level up to `end` of which this key's row is there; `first` if there is none.
  int LevelOf(int64_t key) const;

  /// Puts what is kept at this level into the rows of its keys. An undefined `value` [keys, ...]
  /// becomes one with zeros in the other rows.
  void Read(const std::vector<int64_t>& keys, int level, at::Tensor* value) const;

  /// Keeps the rows of `value`, which is of level `end`, if that fits.
  void Write(const std::vector<int64_t>& keys, const at::Tensor& value);

  /// Reads ahead what is on disk.
  void WillNeed(const std::vector<int64_t>& keys) const;

  /// How long a row of a micro-batch took that was computed, or read, up to `end`. Where reading
  /// takes longer this stage computes the level from the next step on.
  void OnComputed(double seconds);
  void OnRead(double seconds);
  /// What was found since it was called last.
  std::optional<TooSlow> TakeTooSlow() { return std::exchange(too_slow_, std::nullopt); }

 private:
  struct Level {
    LevelName name;
    std::unique_ptr<LevelFile> file;
    const CacheTier* tier = nullptr;
  };
  /// Of `end`; null if it isn't kept.
  LevelFile* FileToWrite(const RowShape& shape);
  /// Null if no tier has room.
  LevelFile* MakeFile(const RowShape& shape);
  /// Gives up lower levels, whose rows come again as rows of this one, if that makes enough room.
  void MakeRoom(const CacheTier& tier, int64_t bytes);
  void Drop(int level);
  void DoNotKeep();
  std::pair<int, int> span() const { return {first_, name_.level}; }

  const int64_t keys_;
  const std::vector<CacheTier> tiers_;
  const v1alpha1::CacheType::Type type_;
  int first_ = 0;
  LevelName name_;                                  // of `end`
  std::map<int, Level> levels_;                     // above `first`, up to `end`
  bool kept_ = true;                                // `end` is, as far as is known
  std::set<LevelName> said_;                        // not to be kept
  std::map<std::pair<int, int>, ReadWorth> worth_;  // by first and end
  std::set<std::pair<int, int>> slow_;
  std::optional<TooSlow> too_slow_;
};

}  // namespace freezepipe::worker
