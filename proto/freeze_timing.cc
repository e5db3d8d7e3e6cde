#include "proto/freeze_timing.h"

#include <algorithm>

namespace freezepipe {

int WindowSteps(const v1alpha1::FreezeSpec& spec, int steps_per_epoch) {
  return std::max(1, steps_per_epoch / spec.windows_per_epoch());
}

int BoundaryAt(const std::vector<v1alpha1::FreezeLogEntry>& log, int step) {
  int boundary = 0;
  for (const auto& entry : log) {
    if (entry.frozen_at() <= step) boundary = std::max(boundary, entry.boundary());
  }
  return boundary;
}

double CoolDownFactor(const std::vector<v1alpha1::FreezeLogEntry>& log, int layer, int step) {
  double factor = 1;
  for (const auto& entry : log) {
    if (entry.boundary() <= layer || step < entry.chosen_at()) continue;
    if (step >= entry.frozen_at()) return 0;
    const double length = entry.frozen_at() - entry.chosen_at();
    factor = std::min(factor, 1 - (step - entry.chosen_at()) / length);
  }
  return factor;
}

}  // namespace freezepipe
