#pragma once

#include <ATen/core/Tensor.h>

namespace freezepipe::worker {

/// Images as read from files.
struct ImageSet {
  /// [n, C, H, W], uint8.
  at::Tensor images;
  /// [n], int64.
  at::Tensor labels;
};

}  // namespace freezepipe::worker
