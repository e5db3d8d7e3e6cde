#include "worker/train/session_memory.h"

#include <algorithm>

namespace freezepipe::worker {

void Remember(const v1alpha1::Remember& order, v1alpha1::Memory* memory) {
  auto& windows = *memory->mutable_windows();
  const auto later = std::find_if(windows.begin(), windows.end(), [&](const auto& window) {
    return window.step() > order.after_step();
  });
  windows.erase(later, windows.end());
  if (order.memory().has_profile()) memory->clear_profile();
  if (order.memory().has_description()) memory->clear_description();
  // Appends the windows, and takes the rest where it is given.
  memory->MergeFrom(order.memory());
}

}  // namespace freezepipe::worker
