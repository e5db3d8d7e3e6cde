#pragma once

#include <cstdint>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::worker {

/// How one training image is changed: mirrored, then shifted, zeros moving in from outside.
struct Augmentation {
  bool flip = false;
  /// Row and column of the image that come to the top left, from -padding to +padding.
  int dy = 0, dx = 0;
};

/// Drawn by (seed, epoch, sample) alone.
Augmentation DrawAugmentation(const v1alpha1::AugmentationSpec& spec, uint64_t seed, int epoch,
                              int64_t sample);

/// One normalised channel: `pixels` [height, width] through `table` to `output` [height, width].
void ApplyAugmentation(const Augmentation& augmentation, const uint8_t* pixels, const float* table,
                       int64_t height, int64_t width, float* output);

}  // namespace freezepipe::worker
