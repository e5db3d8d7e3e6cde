#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace freezepipe::worker {

/// What frozen layers put out for single samples, in memory, on CPUs. The *level* of an output is
/// the end of the layers [0, level) that it went through: while those stay frozen it is a function
/// of the sample alone, whichever worker computes it. Not for several threads.
class ActivationCache {
 public:
  /// `keys`: so many samples (or views of samples) are asked for again and again. A level that
  /// wouldn't fit for all of them isn't kept: as a micro-batch is computed whole if one sample is
  /// missing, a part would be of no use.
  explicit ActivationCache(int64_t keys) : keys_(keys) {}

  /// Bytes that it may hold from now on.
  void SetLimit(int64_t bytes);
  int64_t limit() const { return limit_; }
  int64_t bytes() const { return bytes_; }

  /// Level of what is kept for this key; 0 if nothing is.
  int LevelOf(int64_t key) const;

  /// Puts what is kept at this level into the rows of its keys. An undefined `value` [keys, ...]
  /// becomes one with zeros in the other rows.
  void Read(const std::vector<int64_t>& keys, int level, at::Tensor* value) const;

  /// Keeps the rows of `value` in place of what was kept for these keys, if the level fits.
  void Write(const std::vector<int64_t>& keys, int level, const at::Tensor& value);

  /// Forgets what went through layers that are frozen no longer.
  void DropAbove(int boundary);

 private:
  struct Entry {
    int level = 0;
    at::Tensor row;  // in the memory order of the micro-batch
  };
  void Erase(std::unordered_map<int64_t, Entry>::iterator entry);

  const int64_t keys_;
  int64_t limit_ = 0;
  int64_t bytes_ = 0;
  std::unordered_map<int64_t, Entry> entries_;
};

}  // namespace freezepipe::worker
