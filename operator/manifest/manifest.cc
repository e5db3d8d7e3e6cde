#include "operator/manifest/manifest.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "operator/manifest/override.h"
#include "operator/manifest/rules.h"
#include "operator/manifest/schema_check.h"
#include "operator/manifest/value_path.h"
#include "operator/manifest/yaml_reader.h"
#include "proto/defaults.h"
#include "proto/schema/manifest_schema.h"

namespace freezepipe {
namespace {

using nlohmann::json;

const json& ManifestSchema() {
  static const json* const kSchema = new json(json::parse(ManifestSchemaText()));
  return *kSchema;
}

/// Takes out what a fault is about, and whole lists with a faulty item, so that the rest can be
/// checked.
void EraseFaulty(const std::vector<ManifestFault>& faults, json* manifest) {
  for (const auto& fault : faults) {
    const auto path = ValuePath::Parse(fault.path);
    if (!path.has_value()) continue;
    json* value = manifest;
    for (const auto& step : path->steps()) {
      const auto* name = std::get_if<std::string>(&step);
      if (name == nullptr || !value->is_object() || !value->contains(*name)) break;
      json& inner = (*value)[*name];
      if (&step != &path->steps().back() && inner.is_object()) {
        value = &inner;
        continue;
      }
      value->erase(*name);
      break;
    }
  }
}

/// Appends faults at places that have none yet: a value that YAML couldn't give isn't also missing.
void AddAtNewPlaces(std::vector<ManifestFault> more, std::vector<ManifestFault>* faults) {
  std::set<std::string> places;
  for (const auto& fault : *faults) places.insert(fault.path);
  for (auto& fault : more) {
    if (places.count(fault.path) == 0) faults->push_back(std::move(fault));
  }
}

/// What the schema can't see, and the message itself. The manifest has no fault of the schema left.
void ParseAndCheckRules(const json& manifest, Manifest* result) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // the schema has refused them
  const auto status =
      google::protobuf::util::JsonStringToMessage(manifest.dump(), &result->job, options);
  if (!status.ok()) {
    result->faults.push_back(
        {"", absl::StrCat("the manifest cannot be read: ", std::string(status.message()))});
    return;
  }
  ApplyDefaults(&result->job);
  auto broken = CheckRules(result->job, result->faults);
  std::move(broken.begin(), broken.end(), std::back_inserter(result->faults));
}

}  // namespace

std::string ToString(const ManifestFault& fault) {
  return fault.path.empty() ? fault.message : fault.path + ": " + fault.message;
}

Manifest LoadManifest(std::string_view yaml, const std::vector<std::string>& sets) {
  Manifest result;
  json manifest = ReadYaml(yaml, "the manifest", &result.faults);
  if (result.faults.empty() && !manifest.is_object()) {
    result.faults.push_back(
        {"", manifest.is_null() ? "the manifest is empty" : "the manifest must be a mapping"});
  }
  if (!manifest.is_object()) return result;
  for (const auto& set : sets) ApplyOverride(set, &manifest, &result.faults);
  DropNulls(ManifestSchema(), &manifest);
  AddAtNewPlaces(CheckSchema(ManifestSchema(), manifest), &result.faults);
  EraseFaulty(result.faults, &manifest);
  ParseAndCheckRules(manifest, &result);
  std::sort(result.faults.begin(), result.faults.end(), [](const auto& a, const auto& b) {
    return std::tie(a.path, a.message) < std::tie(b.path, b.message);
  });
  return result;
}

Manifest ReadManifest(const std::string& path, const std::vector<std::string>& sets) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return {{}, {{"", absl::StrCat("cannot read ", path, ": it is a folder")}}};
  }
  std::ifstream file(path);
  if (!file) {
    return {{}, {{"", absl::StrCat("cannot read ", path, ": ", std::strerror(errno))}}};
  }
  std::ostringstream text;
  text << file.rdbuf();
  return LoadManifest(text.str(), sets);
}

}  // namespace freezepipe
