#include "operator/manifest/yaml_reader.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <map>
#include <optional>
#include <regex>

#include "operator/manifest/value_path.h"

namespace freezepipe {
namespace {

using nlohmann::json;

/// More than any manifest has; aliases of aliases can make a small file this large.
constexpr int kMaxNodes = 100'000;
constexpr int kMaxDepth = 100;
constexpr char kTagPrefix[] = "tag:yaml.org,2002:";

/// The integer that a plain scalar stands for under YAML 1.2's core schema.
std::optional<int64_t> Integer(const std::string& text) {
  static const std::regex kDecimal("[-+]?[0-9]+");
  static const std::regex kOther("0o[0-7]+|0x[0-9a-fA-F]+");
  int64_t value = 0;
  if (std::regex_match(text, kDecimal)) {
    return absl::SimpleAtoi(text, &value) ? std::optional(value) : std::nullopt;
  }
  if (!std::regex_match(text, kOther)) return std::nullopt;
  errno = 0;
  value = std::strtoll(text.c_str() + 2, nullptr, text[1] == 'o' ? 8 : 16);
  return errno == 0 ? std::optional(value) : std::nullopt;
}

std::optional<double> Float(const std::string& text) {
  static const std::regex kFinite(R"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)");
  static const std::regex kInfinite(R"([-+]?\.(inf|Inf|INF))");
  static const std::regex kNan(R"(\.(nan|NaN|NAN))");
  double value = 0;
  if (std::regex_match(text, kFinite) && absl::SimpleAtod(text, &value)) return value;
  if (std::regex_match(text, kInfinite)) return HUGE_VAL;
  if (std::regex_match(text, kNan)) return NAN;
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::vector<ManifestFault>* faults) : faults_(faults) {}

  json Read(const YAML::Node& node, const ValuePath& path) {
    if (++nodes_ > kMaxNodes || path.steps().size() > kMaxDepth) {
      too_large_ = true;
      return nullptr;
    }
    switch (node.Type()) {
      case YAML::NodeType::Map:
        return ReadMap(node, path);
      case YAML::NodeType::Sequence:
        return ReadSequence(node, path);
      case YAML::NodeType::Scalar:
        return ReadScalar(node, path);
      default:
        return nullptr;
    }
  }

  bool too_large() const { return too_large_; }

 private:
  void Fault(const ValuePath& path, std::string message) {
    faults_->push_back({path.ToString(), std::move(message)});
  }

  json ReadMap(const YAML::Node& node, const ValuePath& path) {
    json object = json::object();
    std::map<std::string, int> lines;
    for (const auto& entry : node) {
      const int line = entry.first.Mark().line + 1;
      if (!entry.first.IsScalar()) {
        Fault(path, absl::StrCat("a key that is not a string (line ", line, ")"));
        continue;
      }
      const std::string key = entry.first.Scalar();
      const auto [first, is_new] = lines.emplace(key, line);
      if (!is_new) {
        Fault(path.Field(key),
              absl::StrCat("given twice (lines ", first->second, " and ", line, ")"));
        continue;
      }
      object[key] = Read(entry.second, path.Field(key));
    }
    return object;
  }

  json ReadSequence(const YAML::Node& node, const ValuePath& path) {
    json array = json::array();
    for (const auto& item : node) array.push_back(Read(item, path.Item(array.size())));
    return array;
  }

  json ReadScalar(const YAML::Node& node, const ValuePath& path) {
    const std::string& text = node.Scalar();
    const std::string& tag = node.Tag();
    // Quoted scalars have the tag "!", plain ones "?".
    if (tag == "!" || tag == absl::StrCat(kTagPrefix, "str")) return text;
    if (tag != "?" && !tag.empty() && tag.rfind(kTagPrefix, 0) != 0) {
      Fault(path, absl::StrCat("the YAML tag ", tag, " has no meaning here"));
      return nullptr;
    }
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
      return nullptr;
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    if (const auto value = Integer(text)) return *value;
    const auto value = Float(text);
    if (!value.has_value()) return text;
    if (std::isfinite(*value)) return *value;
    Fault(path, absl::StrCat("expected a finite number; got ", text));
    return nullptr;
  }

  std::vector<ManifestFault>* faults_;
  int nodes_ = 0;
  bool too_large_ = false;
};

}  // namespace

json ReadYaml(std::string_view text, std::string_view name, std::vector<ManifestFault>* faults) {
  const std::string document(name);
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(std::string(text));
  } catch (const YAML::Exception& error) {
    faults->push_back({"", absl::StrCat(document, " is not YAML: line ", error.mark.line + 1,
                                        ", column ", error.mark.column + 1, ": ", error.msg)});
    return nullptr;
  }
  std::erase_if(documents, [](const YAML::Node& node) { return node.IsNull(); });
  if (documents.size() > 1) {
    faults->push_back({"", absl::StrCat("expected one YAML document; got ", documents.size())});
    return nullptr;
  }
  if (documents.empty()) return nullptr;
  Reader reader(faults);
  json value = reader.Read(documents.front(), {});
  if (reader.too_large()) {
    *faults = {{"", document + " is too large or too deeply nested"}};
    return nullptr;
  }
  try {
    (void)value.dump();  // the only check of UTF-8 that nlohmann has
  } catch (const json::type_error&) {
    faults->push_back({"", document + " is not UTF-8"});
    return nullptr;
  }
  return value;
}

}  // namespace freezepipe
