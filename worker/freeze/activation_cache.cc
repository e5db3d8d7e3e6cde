#include "worker/freeze/activation_cache.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <iostream>

#include "worker/freeze/stored_type.h"
#include "worker/freeze/weight_version.h"

namespace freezepipe::worker {
namespace {

/// Of the rows of `value`; none if they have too many dimensions.
std::optional<RowShape> ShapeOf(const at::Tensor& value, v1alpha1::CacheType::Type type) {
  const at::Tensor row = at::empty_like(value.select(0, 0));  // dense, in the same memory order
  if (row.dim() > RowShape::kMostDims) return std::nullopt;
  const at::ScalarType stored = StoredType(type, value.scalar_type());
  RowShape shape{.type = static_cast<int32_t>(value.scalar_type()),
                 .stored = static_cast<int32_t>(stored),
                 .dims = static_cast<int32_t>(row.dim()),
                 .bytes = row.numel() * static_cast<int64_t>(at::elementSize(stored))};
  std::copy(row.sizes().begin(), row.sizes().end(), shape.sizes.begin());
  std::copy(row.strides().begin(), row.strides().end(), shape.strides.begin());
  return shape;
}

at::IntArrayRef Sizes(const RowShape& shape) {
  return {shape.sizes.data(), static_cast<size_t>(shape.dims)};
}
at::IntArrayRef Strides(const RowShape& shape) {
  return {shape.strides.data(), static_cast<size_t>(shape.dims)};
}

/// The kept row that lies there.
at::Tensor RowAt(void* data, const RowShape& shape) {
  return at::from_blob(data, Sizes(shape), Strides(shape),
                       at::TensorOptions().dtype(static_cast<at::ScalarType>(shape.stored)));
}

/// Zeros for so many rows, in their memory order.
at::Tensor Zeros(const RowShape& shape, int64_t rows) {
  std::vector<int64_t> sizes = {rows}, strides = {1};
  for (const int64_t size : Sizes(shape)) strides[0] *= size;
  sizes.insert(sizes.end(), Sizes(shape).begin(), Sizes(shape).end());
  strides.insert(strides.end(), Strides(shape).begin(), Strides(shape).end());
  return at::empty_strided(sizes, strides,
                           at::TensorOptions().dtype(static_cast<at::ScalarType>(shape.type)))
      .zero_();
}

}  // namespace

ActivationCache::ActivationCache(int64_t keys, std::vector<CacheTier> tiers,
                                 v1alpha1::CacheType::Type type)
    : keys_(keys), tiers_(std::move(tiers)), type_(type) {}

void ActivationCache::BeginStep(const std::vector<v1alpha1::FreezeLogEntry>& log, int boundary,
                                int first, int end) {
  const LevelName name{.level = end, .version = WeightVersion(log, end).value_or(0)};
  if (first != first_ || name != name_) kept_ = true;  // there may be room for it now
  first_ = first;
  name_ = name;
  auto known = std::exchange(levels_, {});
  for (const CacheTier& tier : tiers_) {
    for (const LevelName& there : tier.List()) {
      // Layers that learn again, after a step back, may come out otherwise in the last bit.
      if (there.level > boundary || WeightVersion(log, there.level) != there.version) {
        tier.Remove(there);
        continue;
      }
      if (there.level <= first || there.level > end || slow_.contains({first, there.level})) {
        continue;
      }
      Level level = std::move(known[there.level]);
      if (level.file == nullptr || level.name != there || level.file->removed()) {
        level = {.name = there, .file = tier.Open(there), .tier = &tier};
      }
      if (level.file != nullptr) levels_[there.level] = std::move(level);
    }
  }
  // Lower ones within the stage are nobody else's either.
  const auto whole = levels_.find(end);
  if (whole == levels_.end() || !whole->second.file->full()) return;
  while (levels_.size() > 1) Drop(levels_.begin()->first);
}

int ActivationCache::LevelOf(int64_t key) const {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    if (level->second.file->Has(key)) return level->first;
  }
  return first_;
}

void ActivationCache::Read(const std::vector<int64_t>& keys, int level, at::Tensor* value) const {
  const LevelFile& file = *levels_.at(level).file;
  if (!value->defined()) *value = Zeros(file.shape(), static_cast<int64_t>(keys.size()));
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!file.Has(keys[i])) continue;
    value->select(0, static_cast<int64_t>(i)).copy_(RowAt(file.Row(keys[i]), file.shape()));
  }
}

void ActivationCache::Write(const std::vector<int64_t>& keys, const at::Tensor& value) {
  const auto shape = ShapeOf(value, type_);
  LevelFile* file = shape ? FileToWrite(*shape) : nullptr;
  if (file == nullptr || file->shape() != *shape) return;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (file->Has(keys[i])) continue;
    void* row = file->Allocate(keys[i]);
    if (row == nullptr) {  // somebody else has taken the room
      Drop(name_.level);
      return DoNotKeep();
    }
    RowAt(row, *shape).copy_(value.select(0, static_cast<int64_t>(i)));
    file->Publish(keys[i]);
  }
}

LevelFile* ActivationCache::FileToWrite(const RowShape& shape) {
  if (const auto found = levels_.find(name_.level); found != levels_.end()) {
    return found->second.file.get();
  }
  if (!kept_ || slow_.contains(span())) return nullptr;
  LevelFile* file = MakeFile(shape);
  if (file == nullptr) DoNotKeep();
  return file;
}

LevelFile* ActivationCache::MakeFile(const RowShape& shape) {
  const auto lock = tiers_.front().Lock();
  Level made;
  for (const CacheTier& tier : tiers_) {  // another worker may have been quicker
    made = {.name = name_, .file = tier.Open(name_), .tier = &tier};
    if (made.file != nullptr) break;
  }
  for (auto tier = tiers_.begin(); made.file == nullptr && tier != tiers_.end(); ++tier) {
    MakeRoom(*tier, LevelFile::BytesOf(shape, keys_));
    made = {.name = name_, .file = tier->Make(name_, shape, keys_), .tier = &*tier};
  }
  if (made.file == nullptr) return nullptr;
  return (levels_[name_.level] = std::move(made)).file.get();
}

void ActivationCache::MakeRoom(const CacheTier& tier, int64_t bytes) {
  std::vector<int> lower;
  int64_t removed = 0;
  for (const auto& [number, level] : levels_) {
    if (tier.Room(removed) >= bytes) break;
    if (level.tier != &tier) continue;
    removed += level.file->bytes();
    lower.push_back(number);
  }
  if (tier.Room(removed) < bytes) return;
  for (const int level : lower) Drop(level);
}

void ActivationCache::Drop(int level) {
  const auto found = levels_.find(level);
  found->second.file->Remove();
  levels_.erase(found);
}

void ActivationCache::DoNotKeep() {
  kept_ = false;
  if (!said_.insert(name_).second) return;
  std::cerr << "activation cache: no room for the outputs of layers [0, " << name_.level
            << "): they are computed" << std::endl;
}

void ActivationCache::WillNeed(const std::vector<int64_t>& keys) const {
  for (const int64_t key : keys) {
    const auto level = levels_.find(LevelOf(key));
    if (level == levels_.end()) continue;
    if (level->second.tier->medium() == CacheTier::Medium::kDisk) level->second.file->WillNeed(key);
  }
}

void ActivationCache::OnComputed(double seconds) { worth_[span()].OnComputed(seconds); }

void ActivationCache::OnRead(double seconds) {
  const auto medians = worth_[span()].OnRead(seconds);
  if (!medians || !slow_.insert(span()).second) return;
  too_slow_ = {.level = name_.level, .seconds = *medians};
  std::cerr << "activation cache: outputs of layers [0, " << name_.level << ") are read in "
            << medians->read << " s a sample, and computed in " << medians->computed
            << " s: they are computed from now on" << std::endl;
}

}  // namespace freezepipe::worker
