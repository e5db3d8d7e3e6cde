#include "operator/reconciler/served_schema.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <google/protobuf/descriptor.h>

#include "freezepipe/v1alpha1/job.pb.h"
#include "operator/reconciler/status_store.h"

namespace freezepipe::reconciler {
namespace {

using google::protobuf::Descriptor;
using kube::Json;
using Pointer = Json::json_pointer;

constexpr kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                      /*namespaced=*/false};

void Compare(const Descriptor* message, const Json& schema, const std::string& path,
             std::vector<std::string>& missing) {
  const Json properties = schema.value("properties", Json::object());
  for (int i = 0; i < message->field_count(); ++i) {
    const auto* field = message->field(i);
    const std::string inner = absl::StrCat(path, ".", field->json_name());
    const auto found = properties.find(field->json_name());
    if (found == properties.end()) {
      missing.push_back(inner);
      continue;
    }
    const auto* type = field->message_type();
    // Others are well-known types: one value in JSON.
    if (type == nullptr || type->file()->package() != message->file()->package()) continue;
    Compare(type, field->is_repeated() ? found->value("items", Json::object()) : *found, inner,
            missing);
  }
}

}  // namespace

std::vector<std::string> MissingStatusFields(const Json& definition) {
  std::vector<std::string> missing;
  for (const Json& version : definition.value(Pointer("/spec/versions"), Json(Json::array()))) {
    if (version.value("name", "") != kJobs.version) continue;
    const Json schema =
        version.value(Pointer("/schema/openAPIV3Schema/properties/status"), Json(Json::object()));
    Compare(v1alpha1::FreezePipeJobStatus::descriptor(), schema, "status", missing);
    return missing;
  }
  return {absl::StrCat("version ", std::string(kJobs.version))};
}

absl::Status CheckServedSchema(kube::Client& client) {
  const std::string name = absl::StrCat(std::string(kJobs.plural), ".", std::string(kJobs.group));
  const auto definition = client.Get(kDefinitions, {.ns = "", .name = name});
  if (absl::IsPermissionDenied(definition.status())) return absl::OkStatus();
  if (!definition.ok()) return definition.status();
  const auto missing = MissingStatusFields(*definition);
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the cluster's definition of FreezePipeJob is older than this operator and lacks ",
      absl::StrJoin(missing, ", "), ": apply the one that came with it"));
}

}  // namespace freezepipe::reconciler
