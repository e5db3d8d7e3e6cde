#include "operator/report/json.h"

#include <google/protobuf/util/json_util.h>

#include <stdexcept>

namespace freezepipe::report {

namespace util = google::protobuf::util;

std::string ToJson(const google::protobuf::Message& message, JsonLayout layout) {
  util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.add_whitespace = layout == JsonLayout::kIndented;
  std::string json;
  const auto status = util::MessageToJsonString(message, &json, options);
  // Only a message that is not valid itself (bad UTF-8) can't be written.
  if (!status.ok()) throw std::logic_error(std::string(status.message()));
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

absl::Status FromJson(const std::string& json, google::protobuf::Message* message) {
  const auto status = util::JsonStringToMessage(json, message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(status.message()));
}

}  // namespace freezepipe::report
