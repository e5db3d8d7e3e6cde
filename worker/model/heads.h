#pragma once

#include <cstdint>

#include "worker/model/zoo.h"

namespace freezepipe::worker {

/// Layer "head": flatten, linear to the classes.
LayerRecipe LinearHead(int64_t inputs, int classes);

/// Layer "head": mean over the image, dropout, linear to the classes.
LayerRecipe PoolingHead(int64_t channels, const ZooOptions& options);

}  // namespace freezepipe::worker
