#pragma once

#include <absl/status/status.h>
#include <google/protobuf/message.h>

#include <string>

namespace freezepipe::report {

/// Whether the JSON takes one line or is indented for people.
enum class JsonLayout { kOneLine, kIndented };

/// The message in proto3 JSON: camelCase names, numbers, strings, booleans and enums always there,
/// also when they are zero. Ends with a newline.
std::string ToJson(const google::protobuf::Message& message, JsonLayout layout);

/// Reads what ToJson wrote; unknown fields are refused.
absl::Status FromJson(const std::string& json, google::protobuf::Message* message);

}  // namespace freezepipe::report
