#include "worker/freeze/weight_version.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace freezepipe::worker {

std::optional<uint64_t> WeightVersion(const std::vector<v1alpha1::FreezeLogEntry>& log, int level) {
  const auto freezes =
      std::find_if(log.begin(), log.end(), [&](const auto& e) { return e.boundary() >= level; });
  if (freezes == log.end()) return std::nullopt;
  std::vector<int32_t> numbers = {freezes->frozen_at(), freezes->boundary()};
  for (const auto& entry : log) {
    // Later layers that cooled down meanwhile had smaller steps, and so other gradients to hand on.
    if (entry.chosen_at() >= freezes->frozen_at()) continue;
    numbers.insert(numbers.end(), {entry.chosen_at(), entry.frozen_at(), entry.boundary()});
  }
  return XXH3_64bits(numbers.data(), numbers.size() * sizeof(int32_t));
}

}  // namespace freezepipe::worker
