#pragma once

#include <string_view>

namespace freezepipe {

/// JSON text of the schema that a FreezePipeJob manifest must fit: JSON Schema draft 4 with
/// Kubernetes' extensions. Generated from job.proto at build time (see open_api.h,
/// ValidationSchema).
std::string_view ManifestSchemaText();

}  // namespace freezepipe
