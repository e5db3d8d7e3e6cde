#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace freezepipe {

/// What a schema node asks for, in plain words: "an integer from 1 to 1024", "one of GPipe, Never".
std::string ExpectedBy(const nlohmann::json& schema);

/// How a value fails its schema: `expected an integer of at least 1; got the string "4"`.
std::string Mismatch(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace freezepipe
