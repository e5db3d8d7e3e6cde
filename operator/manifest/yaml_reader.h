#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "operator/manifest/manifest.h"

namespace freezepipe {

/// One YAML document as JSON; plain scalars are typed as YAML 1.2 says. Faults: broken syntax, more
/// or fewer than one document, a key given twice, what JSON can't hold. A faulty value reads as
/// null. `name` is what messages call the document: "the manifest".
nlohmann::json ReadYaml(std::string_view text, std::string_view name,
                        std::vector<ManifestFault>* faults);

}  // namespace freezepipe
