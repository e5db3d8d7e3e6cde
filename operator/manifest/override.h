#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "operator/manifest/manifest.h"

namespace freezepipe {

/// Sets one value of a manifest by "path=value" (see LoadManifest), making the mappings on the way.
void ApplyOverride(std::string_view assignment, nlohmann::json* manifest,
                   std::vector<ManifestFault>* faults);

}  // namespace freezepipe
