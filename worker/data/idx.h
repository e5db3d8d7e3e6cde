#pragma once

#include <filesystem>
#include <string>

#include "worker/data/image_set.h"

namespace freezepipe::worker {

/// Images and labels of `part` ("train", "t10k") in IDX files of that folder, plain or .gz, as
/// MNIST names them: "train-images-idx3-ubyte" or "train-images.idx3-ubyte". Throws
/// std::runtime_error naming the file: missing, truncated, not such a file, label out of range,
/// other number of labels than images, empty.
ImageSet ReadIdx(const std::filesystem::path& folder, const std::string& part, int classes);

}  // namespace freezepipe::worker
