#pragma once

#include <filesystem>
#include <vector>

#include "worker/data/image_set.h"

namespace freezepipe::worker {

/// Files of records of labels, then 3 x 32 x 32 pixels. CIFAR-10 has one label byte; CIFAR-100 has
/// a coarse and a fine one, of which the fine one counts.
struct CifarLayout {
  int label_bytes = 1;
  int classes = 10;
};

/// Images of all files, in order. Throws std::runtime_error naming the file: missing, truncated,
/// label out of range, empty.
ImageSet ReadCifar(const std::vector<std::filesystem::path>& files, const CifarLayout& layout);

}  // namespace freezepipe::worker
