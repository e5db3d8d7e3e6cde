#include "worker/data/augmentation.h"

#include "worker/model/seed.h"

namespace freezepipe::worker {

Augmentation DrawAugmentation(const v1alpha1::AugmentationSpec& spec, uint64_t seed, int epoch,
                              int64_t sample) {
  const uint64_t draw = MixSeed(
      SeedUse::kAugmentation, {seed, static_cast<uint64_t>(epoch), static_cast<uint64_t>(sample)});
  const int padding = spec.random_crop_padding();
  const auto offset = [padding](uint64_t bits) {
    return static_cast<int>(bits % static_cast<uint64_t>(2 * padding + 1)) - padding;
  };
  // Disjoint bits for each draw.
  return {.flip = spec.random_horizontal_flip() && (draw >> 63) != 0,
          .dy = offset(draw & 0x7fffffff),
          .dx = offset((draw >> 31) & 0x7fffffff)};
}

void ApplyAugmentation(const Augmentation& augmentation, const uint8_t* pixels, const float* table,
                       int64_t height, int64_t width, float* output) {
  for (int64_t y = 0; y < height; ++y) {
    const int64_t from_y = y + augmentation.dy;
    const bool inside = from_y >= 0 && from_y < height;
    const uint8_t* row = pixels + from_y * width;
    for (int64_t x = 0; x < width; ++x) {
      const int64_t from_x = x + augmentation.dx;
      const bool seen = inside && from_x >= 0 && from_x < width;
      *output++ = seen ? table[row[augmentation.flip ? width - 1 - from_x : from_x]] : 0.0F;
    }
  }
}

}  // namespace freezepipe::worker
