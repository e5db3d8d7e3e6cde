#include "proto/schema/yaml_text.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_replace.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

namespace freezepipe::schema {
namespace {

/// Strings that some YAML version takes for another type; yaml-cpp quotes what breaks the syntax by
/// itself.
bool NeedsQuotes(const std::string& text) {
  static constexpr std::array<absl::string_view, 9> kWords = {"y",   "n",    "yes",   "no",  "on",
                                                              "off", "true", "false", "null"};
  if (text.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(text[0]))) return true;
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](absl::string_view word) { return absl::EqualsIgnoreCase(text, word); });
}

/// YAML 1.1 wants a point in a number with an exponent.
std::string NumberText(const nlohmann::ordered_json& value) {
  std::string text = value.dump();
  if (!absl::StrContains(text, '.')) text = absl::StrReplaceAll(text, {{"e", ".0e"}});
  return text;
}

void Emit(const nlohmann::ordered_json& value, YAML::Emitter* out) {
  if (value.is_object() && value.empty()) {
    *out << YAML::Flow << YAML::BeginMap << YAML::EndMap;
  } else if (value.is_object()) {
    *out << YAML::BeginMap;
    for (const auto& [key, item] : value.items()) {
      *out << YAML::Key << key << YAML::Value;
      Emit(item, out);
    }
    *out << YAML::EndMap;
  } else if (value.is_array()) {
    *out << YAML::BeginSeq;
    for (const auto& item : value) Emit(item, out);
    *out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (NeedsQuotes(text)) *out << YAML::DoubleQuoted;
    *out << text;
  } else if (value.is_number()) {
    *out << NumberText(value);
  } else {
    *out << value.dump();
  }
}

}  // namespace

std::string YamlText(const nlohmann::ordered_json& value) {
  YAML::Emitter out;
  Emit(value, &out);
  return std::string(out.c_str()) + "\n";
}

}  // namespace freezepipe::schema
