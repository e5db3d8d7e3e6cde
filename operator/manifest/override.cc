#include "operator/manifest/override.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>

#include "operator/manifest/value_path.h"
#include "operator/manifest/yaml_reader.h"

namespace freezepipe {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> kRoots = {"apiVersion", "kind", "metadata", "spec",
                                                    "status"};

/// The value one step into `value`, made where it is missing; null with the reason in `fault` if it
/// can't be.
json* StepInto(json* value, const PathStep& step, std::string* fault) {
  if (const auto* name = std::get_if<std::string>(&step)) {
    if (value->is_null()) *value = json::object();
    if (value->is_object()) return &(*value)[*name];
    *fault = absl::StrCat("cannot be set: ", *name,
                          " would be a field of something that is not a mapping");
    return nullptr;
  }
  const size_t index = std::get<size_t>(step);
  if (value->is_null()) *value = json::array();
  if (!value->is_array()) {
    *fault = absl::StrCat("cannot be set: [", index,
                          "] would be an item of something that is not a list");
    return nullptr;
  }
  if (index > value->size()) {
    *fault = absl::StrCat("cannot be set: the list has ", value->size(), " items");
    return nullptr;
  }
  if (index == value->size()) value->push_back(nullptr);
  return &(*value)[index];
}

}  // namespace

void ApplyOverride(std::string_view assignment, json* manifest,
                   std::vector<ManifestFault>* faults) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    faults->push_back({"", absl::StrCat("cannot be set by \"", std::string(assignment),
                                        "\": expected path=value")});
    return;
  }
  std::string text(assignment.substr(0, equals));
  const std::string root = text.substr(0, text.find_first_of(".["));
  if (std::find(kRoots.begin(), kRoots.end(), root) == kRoots.end()) text = "spec." + text;
  const auto path = ValuePath::Parse(text);
  if (!path.has_value()) {
    faults->push_back(
        {"", absl::StrCat("cannot be set by \"", std::string(assignment),
                          "\": expected a path such as spec.freeze.manual[0].boundary")});
    return;
  }
  std::vector<ManifestFault> value_faults;
  json parsed = ReadYaml(assignment.substr(equals + 1), "the value", &value_faults);
  if (!value_faults.empty()) {
    for (const auto& fault : value_faults) {
      faults->push_back({text, absl::StrCat("cannot be set: ", fault.message)});
    }
    return;
  }
  json* value = manifest;
  std::string fault;
  for (const auto& step : path->steps()) {
    value = StepInto(value, step, &fault);
    if (value == nullptr) {
      faults->push_back({text, fault});
      return;
    }
  }
  *value = std::move(parsed);
}

}  // namespace freezepipe
