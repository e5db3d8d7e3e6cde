#include "operator/manifest/schema_words.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <vector>

namespace freezepipe {
namespace {

using nlohmann::json;

constexpr size_t kMaxShown = 60;

std::string Range(const json& schema) {
  const bool has_minimum = schema.contains("minimum") && schema["minimum"] != INT32_MIN;
  const bool has_maximum = schema.contains("maximum") && schema["maximum"] != INT32_MAX;
  const bool above = schema.value("exclusiveMinimum", false);
  const bool below = schema.value("exclusiveMaximum", false);
  if (has_minimum && has_maximum && !above && !below) {
    return absl::StrCat(" from ", schema["minimum"].dump(), " to ", schema["maximum"].dump());
  }
  std::vector<std::string> parts;
  if (has_minimum)
    parts.push_back((above ? " above " : " of at least ") + schema["minimum"].dump());
  if (has_maximum) parts.push_back((below ? " below " : " of at most ") + schema["maximum"].dump());
  return absl::StrJoin(parts, " and");
}

std::string ExpectedString(const json& schema) {
  if (schema.contains("enum")) {
    const auto& values = schema["enum"];
    const std::string list = absl::StrJoin(values.get<std::vector<std::string>>(), ", ");
    return values.size() == 1 ? list : "one of " + list;
  }
  std::string text = schema.value("x-freezepipe-pattern-meaning", "");
  if (text.empty())
    text = schema.value("minLength", 0) > 0 ? "a string that is not empty" : "a string";
  if (schema.contains("maxLength")) {
    absl::StrAppend(&text, ", at most ", schema["maxLength"].get<int>(), " characters");
  }
  return text;
}

std::string ExpectedList(const json& schema) {
  std::string text = schema.value("uniqueItems", false) ? "a list without duplicates" : "a list";
  if (schema.contains("minItems"))
    absl::StrAppend(&text, " of at least ", schema["minItems"].get<int>());
  if (schema.contains("maxItems"))
    absl::StrAppend(&text, " of at most ", schema["maxItems"].get<int>());
  return text;
}

}  // namespace

std::string ExpectedBy(const json& schema) {
  const std::string type = schema.value("type", "");
  if (type == "integer") {
    const bool full_range =
        schema.value("minimum", 0) == INT32_MIN && schema.value("maximum", 0) == INT32_MAX;
    return full_range ? "an integer of 32 bits" : "an integer" + Range(schema);
  }
  if (type == "number") return "a number" + Range(schema);
  if (type == "boolean") return "true or false";
  if (type == "string") return ExpectedString(schema);
  if (type == "array") return ExpectedList(schema);
  return "a mapping";
}

std::string Describe(const json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_object()) return "a mapping";
  if (value.is_array()) return absl::StrCat("a list of ", value.size());
  std::string text = value.dump();
  if (text.size() > kMaxShown) {
    text = value.dump(-1, ' ', /*ensure_ascii=*/true).substr(0, kMaxShown) + "...";
  }
  return value.is_string() ? "the string " + text : text;
}

}  // namespace freezepipe
