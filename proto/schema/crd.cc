#include "proto/schema/crd.h"

#include <absl/strings/ascii.h>

#include "proto/schema/open_api.h"

namespace freezepipe::schema {

using nlohmann::ordered_json;

ordered_json CustomResourceDefinition(const google::protobuf::Descriptor* resource) {
  const auto& options = resource->options().GetExtension(v1alpha1::resource);
  ordered_json columns = ordered_json::array();
  for (const auto& column : options.columns()) {
    columns.push_back(
        {{"name", column.name()}, {"type", column.type()}, {"jsonPath", column.json_path()}});
  }
  ordered_json version = {{"name", options.version()},
                          {"served", true},
                          {"storage", true},
                          {"additionalPrinterColumns", std::move(columns)},
                          {"subresources", {{"status", ordered_json::object()}}},
                          {"schema", {{"openAPIV3Schema", ResourceSchema(resource)}}}};
  ordered_json names = {{"kind", resource->name()},
                        {"listKind", resource->name() + "List"},
                        {"plural", options.plural()},
                        {"singular", absl::AsciiStrToLower(resource->name())},
                        {"shortNames", options.short_names()}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", options.plural() + "." + options.group()}}},
          {"spec",
           {{"group", options.group()},
            {"scope", "Namespaced"},
            {"names", std::move(names)},
            {"versions", ordered_json::array({std::move(version)})}}}};
}

}  // namespace freezepipe::schema
