#include "operator/manifest/schema_check.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "operator/manifest/schema_words.h"
#include "operator/manifest/suggestion.h"
#include "operator/manifest/value_path.h"

namespace freezepipe {
namespace {

using nlohmann::json;
using Context = std::vector<std::string>;

/// Schema of the value one step into a value of this schema; null if it says nothing of it.
const json* SchemaOf(const json* schema, const PathStep& step) {
  if (schema == nullptr) return nullptr;
  if (std::holds_alternative<size_t>(step)) {
    const auto items = schema->find("items");
    return items == schema->end() ? nullptr : &*items;
  }
  const auto properties = schema->find("properties");
  if (properties == schema->end()) return nullptr;
  const auto property = properties->find(std::get<std::string>(step));
  return property == properties->end() ? nullptr : &*property;
}

/// A place that the validator found fault with.
struct Place {
  ValuePath path;
  const json* value;
  const json* schema;
};

/// valijson names a place "<root>", "[spec]", "[0]".
Place Locate(const json& schema, const json& manifest, const Context& context) {
  Place place{{}, &manifest, &schema};
  for (size_t i = 1; i < context.size(); ++i) {
    const std::string name = context[i].substr(1, context[i].size() - 2);
    size_t index = 0;
    PathStep step = name;
    if (place.value->is_array() && absl::SimpleAtoi(name, &index)) step = index;
    place.schema = SchemaOf(place.schema, step);
    if (std::holds_alternative<size_t>(step)) {
      place.path = place.path.Item(index);
      place.value = &(*place.value)[index];
    } else {
      place.path = place.path.Field(name);
      place.value = &(*place.value)[name];
    }
  }
  return place;
}

/// Paths of all fields of a name, anywhere outside lists.
void FindField(const json& schema, const std::string& name, const ValuePath& path,
               std::vector<std::string>* found) {
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return;
  for (const auto& [key, property] : properties->items()) {
    if (key == name) found->push_back(path.Field(key).ToString());
    FindField(property, name, path.Field(key), found);
  }
}

class SchemaCheck {
 public:
  SchemaCheck(const json& schema, const json& manifest) : schema_(schema), manifest_(manifest) {}

  std::vector<ManifestFault> Run() {
    valijson::Schema compiled;
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft4);
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_), compiled);
    valijson::ValidationResults results;
    valijson::Validator(valijson::Validator::kStrongTypes)
        .validate(compiled, valijson::adapters::NlohmannJsonAdapter(manifest_), &results);
    for (const auto& error : results) Explain(error);
    return std::move(faults_);
  }

 private:
  /// The validator says where; what was expected there comes from schema and value, so that each
  /// place is told of once, in full. What it says of the places around a faulty one is no news.
  void Explain(const valijson::ValidationResults::Error& error) {
    if (error.description.rfind("Failed to validate", 0) == 0) return;
    if (!seen_.insert(error.context).second) return;
    const Place place = Locate(schema_, manifest_, error.context);
    const std::string type = place.schema->value("type", "");
    if (type == "object" && place.value->is_object()) {
      ExplainFields(place);
    } else {
      Add(place.path, Mismatch(*place.schema, *place.value) + EnumHint(place));
    }
  }

  void ExplainFields(const Place& place) {
    const auto& properties = (*place.schema)["properties"];
    for (const auto& name : place.schema->value("required", json::array())) {
      if (place.value->contains(name)) continue;
      const auto field = name.get<std::string>();
      Add(place.path.Field(field), "missing; expected " + ExpectedBy(properties[field]));
    }
    if (place.schema->value("additionalProperties", true)) return;
    std::vector<std::string> names;
    for (const auto& [name, unused] : properties.items()) names.push_back(name);
    for (const auto& [name, unused] : place.value->items()) {
      if (properties.contains(name)) continue;
      Add(place.path.Field(name), "unknown field" + FieldHint(name, names));
    }
  }

  std::string EnumHint(const Place& place) {
    if (!place.schema->contains("enum") || !place.value->is_string()) return "";
    const auto values = (*place.schema)["enum"].get<std::vector<std::string>>();
    if (values.size() == 1) return "";
    const auto near = NearestTo(place.value->get<std::string>(), values);
    return near.has_value() ? absl::StrCat("; did you mean ", *near, "?") : "";
  }

  std::string FieldHint(const std::string& name, const std::vector<std::string>& siblings) {
    if (const auto near = NearestTo(name, siblings))
      return absl::StrCat("; did you mean ", *near, "?");
    std::vector<std::string> elsewhere;
    FindField(schema_, name, {}, &elsewhere);
    return elsewhere.size() == 1 ? absl::StrCat("; did you mean ", elsewhere[0], "?") : "";
  }

  void Add(const ValuePath& path, std::string message) {
    faults_.push_back({path.ToString(), std::move(message)});
  }

  const json& schema_;
  const json& manifest_;
  std::set<Context> seen_;
  std::vector<ManifestFault> faults_;
};

}  // namespace

void DropNulls(const json& schema, json* value) {
  if (value->is_array() && schema.contains("items")) {
    for (auto& item : *value) DropNulls(schema["items"], &item);
  }
  const auto properties = schema.find("properties");
  if (!value->is_object() || properties == schema.end()) return;
  for (auto it = value->begin(); it != value->end();) {
    const auto property = properties->find(it.key());
    const bool drop = property != properties->end() && it->is_null();
    if (!drop && property != properties->end()) DropNulls(*property, &*it);
    it = drop ? value->erase(it) : std::next(it);
  }
}

std::vector<ManifestFault> CheckSchema(const json& schema, const json& manifest) {
  return SchemaCheck(schema, manifest).Run();
}

}  // namespace freezepipe
