#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace freezepipe::schema {

/// A JSON value as block-style YAML, keys in their order, ending in a line feed. Reads the same
/// under YAML 1.1 and 1.2.
std::string YamlText(const nlohmann::ordered_json& value);

}  // namespace freezepipe::schema
