#include "worker/model/seed.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace freezepipe::worker {

uint64_t MixSeed(SeedUse use, std::initializer_list<uint64_t> parts) {
  return XXH3_64bits_withSeed(parts.begin(), parts.size() * sizeof(uint64_t),
                              static_cast<uint64_t>(use));
}

}  // namespace freezepipe::worker
