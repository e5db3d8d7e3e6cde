#include "operator/planner/freeze_settings.h"

#include <algorithm>

namespace freezepipe::planner {
namespace {

struct Preset {
  double threshold;
  int min_windows_between_choices;
  bool brake;
};

Preset PresetValues(v1alpha1::FreezePreset::Type type) {
  switch (type) {
    case v1alpha1::FreezePreset::Cautious:
      return {0.30, 2, true};
    case v1alpha1::FreezePreset::Eager:
      return {0.40, 1, false};
    default:
      return {0.35, 1, true};
  }
}

}  // namespace

int MaxFrozen(const v1alpha1::FreezeSpec& spec, int layers) {
  if (spec.max_frozen() > 0) return std::min(spec.max_frozen(), layers - 1);
  return std::max(0, layers - 2);
}

int ChosenLayers(const std::vector<v1alpha1::FreezeLogEntry>& log) {
  int chosen = 0;
  for (const auto& entry : log) chosen = std::max(chosen, entry.boundary());
  return chosen;
}

v1alpha1::GradientChangeSpec ResolvePreset(const v1alpha1::FreezeSpec& spec) {
  const Preset preset = PresetValues(spec.preset());
  v1alpha1::GradientChangeSpec rule = spec.gradient_change();
  if (!rule.has_threshold()) rule.set_threshold(preset.threshold);
  if (!rule.has_min_windows_between_choices()) {
    rule.set_min_windows_between_choices(preset.min_windows_between_choices);
  }
  if (!rule.has_brake()) rule.set_brake(preset.brake);
  return rule;
}

}  // namespace freezepipe::planner
