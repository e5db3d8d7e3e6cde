#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "operator/manifest/manifest.h"

namespace freezepipe {

/// The cross-field rules of job.proto, which the API server evaluates as CEL, checked natively:
/// each rule has a twin here by its id (but transition rules, which are of updates alone). The
/// job's defaults are applied. A rule that reads a value under one of `known` (faults found before)
/// is left out: there is nothing sound to check.
std::vector<ManifestFault> CheckRules(const v1alpha1::FreezePipeJob& job,
                                      const std::vector<ManifestFault>& known);

/// Ids of all rules that have a twin.
std::vector<std::string> NativeRuleIds();

}  // namespace freezepipe
