#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "operator/manifest/manifest.h"

namespace freezepipe {

/// Takes out every field that is null and that the schema names: to Kubernetes such a field is
/// absent.
void DropNulls(const nlohmann::json& schema, nlohmann::json* value);

/// Everything in a manifest that doesn't fit the schema, one fault for each place.
std::vector<ManifestFault> CheckSchema(const nlohmann::json& schema,
                                       const nlohmann::json& manifest);

}  // namespace freezepipe
