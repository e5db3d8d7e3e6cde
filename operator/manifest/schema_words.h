#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace freezepipe {

/// What a schema node asks for, in plain words: "an integer from 1 to 1024", "one of GPipe, Never".
std::string ExpectedBy(const nlohmann::json& schema);

/// A value as a fault names it: `the string "4"`, `1.5`, `a mapping`, `a list of 3`.
std::string Describe(const nlohmann::json& value);

}  // namespace freezepipe
