#pragma once

#include "operator/planner/freeze_policy.h"

namespace freezepipe::planner {

/// Layers that may freeze: the manifest's number, or all but the last two; never the last.
int MaxFrozen(const v1alpha1::FreezeSpec& spec, int layers);

/// Layers in front of the longest prefix chosen so far.
int ChosenLayers(const std::vector<v1alpha1::FreezeLogEntry>& log);

/// The rule of GradientChange (defaults applied), with the preset's value where the manifest gives
/// none.
v1alpha1::GradientChangeSpec ResolvePreset(const v1alpha1::FreezeSpec& spec);

}  // namespace freezepipe::planner
