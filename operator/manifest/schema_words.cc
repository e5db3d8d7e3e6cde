#include "operator/manifest/schema_words.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <vector>

namespace freezepipe {
namespace {

using nlohmann::json;

constexpr size_t kMaxShown = 60;

/// The limits of 32 bits are only worth a word to someone who has passed them.
bool PassesInt32(const json& value) {
  return value.is_number() && (value > INT32_MAX || value < INT32_MIN);
}

std::string Range(const json& schema, const json& value) {
  const bool all = PassesInt32(value);
  const bool has_minimum = schema.contains("minimum") && (all || schema["minimum"] != INT32_MIN);
  const bool has_maximum = schema.contains("maximum") && (all || schema["maximum"] != INT32_MAX);
  const bool above = schema.value("exclusiveMinimum", false);
  const bool below = schema.value("exclusiveMaximum", false);
  if (has_minimum && has_maximum && !above && !below) {
    return absl::StrCat(" from ", schema["minimum"].dump(), " to ", schema["maximum"].dump());
  }
  std::string text;
  if (has_minimum)
    absl::StrAppend(&text, above ? " above " : " of at least ", schema["minimum"].dump());
  if (has_maximum) {
    absl::StrAppend(&text, has_minimum ? " and" : "",
                    below         ? " below "
                    : has_minimum ? " at most "
                                  : " of at most ",
                    schema["maximum"].dump());
  }
  return text;
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
  if (schema.contains("minItems"))
    return absl::StrCat("a list of at least ", schema["minItems"].get<int>());
  if (schema.contains("maxItems"))
    return absl::StrCat("a list of at most ", schema["maxItems"].get<int>());
  return "a list";
}

/// The first item of a list that stands in it twice; null if there is none.
const json* Duplicate(const json& list) {
  for (auto item = list.begin(); item != list.end(); ++item) {
    if (std::find(list.begin(), item, *item) != item) return &*item;
  }
  return nullptr;
}

std::string Expected(const json& schema, const json& value) {
  const std::string type = schema.value("type", "");
  if (type == "integer") return "an integer" + Range(schema, value);
  if (type == "number") return "a number" + Range(schema, value);
  if (type == "boolean") return "true or false";
  if (type == "string") return ExpectedString(schema);
  if (type == "array") return ExpectedList(schema);
  return "a mapping";
}

std::string Shown(const json& value) {
  if (value.is_object()) return "a mapping";
  if (value.is_array()) return absl::StrCat("a list of ", value.size());
  const std::string text = value.dump();
  if (text.size() <= kMaxShown) return text;
  return value.dump(-1, ' ', /*ensure_ascii=*/true).substr(0, kMaxShown) + "...";
}

}  // namespace

std::string ExpectedBy(const json& schema) { return Expected(schema, nullptr); }

std::string Mismatch(const json& schema, const json& value) {
  if (value.is_array() && schema.value("uniqueItems", false)) {
    if (const auto* item = Duplicate(value)) {
      return absl::StrCat("expected a list without duplicates; got ", Shown(*item), " twice");
    }
  }
  const bool wrongly_quoted = value.is_string() && schema.value("type", "") != "string";
  return absl::StrCat("expected ", Expected(schema, value), "; got ",
                      wrongly_quoted ? "the string " : "", Shown(value));
}

}  // namespace freezepipe
