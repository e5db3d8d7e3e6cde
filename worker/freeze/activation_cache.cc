#include "worker/freeze/activation_cache.h"

#include <ATen/ops/empty_strided.h>

namespace freezepipe::worker {
namespace {

/// Zeros for `rows` rows like this one, in its memory order.
at::Tensor ZerosLike(const at::Tensor& row, int64_t rows) {
  std::vector<int64_t> sizes = {rows}, strides = {row.numel()};
  sizes.insert(sizes.end(), row.sizes().begin(), row.sizes().end());
  strides.insert(strides.end(), row.strides().begin(), row.strides().end());
  return at::empty_strided(sizes, strides, row.options()).zero_();
}

}  // namespace

void ActivationCache::SetLimit(int64_t bytes) {
  limit_ = bytes;
  while (bytes_ > limit_) Erase(entries_.begin());
}

int ActivationCache::LevelOf(int64_t key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? 0 : found->second.level;
}

void ActivationCache::Read(const std::vector<int64_t>& keys, int level, at::Tensor* value) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto found = entries_.find(keys[i]);
    if (found == entries_.end() || found->second.level != level) continue;
    const at::Tensor& row = found->second.row;
    if (!value->defined()) *value = ZerosLike(row, static_cast<int64_t>(keys.size()));
    value->select(0, static_cast<int64_t>(i)).copy_(row);
  }
}

void ActivationCache::Write(const std::vector<int64_t>& keys, int level, const at::Tensor& value) {
  const auto rows = static_cast<int64_t>(keys.size());
  const int64_t row_bytes = static_cast<int64_t>(value.nbytes()) / rows;
  if (row_bytes * keys_ > limit_) return;
  for (int64_t i = 0; i < rows; ++i) {
    if (const auto found = entries_.find(keys[i]); found != entries_.end()) Erase(found);
    // Of the level before there may be more bytes in a row.
    if (bytes_ + row_bytes > limit_) continue;
    entries_[keys[i]] = {level, value.select(0, i).clone(at::MemoryFormat::Preserve)};
    bytes_ += row_bytes;
  }
}

void ActivationCache::DropAbove(int boundary) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto here = entry++;
    if (here->second.level > boundary) Erase(here);
  }
}

void ActivationCache::Erase(std::unordered_map<int64_t, Entry>::iterator entry) {
  bytes_ -= static_cast<int64_t>(entry->second.row.nbytes());
  entries_.erase(entry);
}

}  // namespace freezepipe::worker
