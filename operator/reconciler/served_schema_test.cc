#include "operator/reconciler/served_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "operator/kube/fake_api_server.h"
#include "operator/manifest/yaml_reader.h"

namespace freezepipe::reconciler {
namespace {

using kube::Json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A definition whose status has these properties.
Json Definition(Json properties) {
  const Json status = {{"properties", std::move(properties)}};
  const Json schema = {{"properties", {{"status", status}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "freezepipejobs.freezepipe.io"}}},
          {"spec",
           {{"versions", {{{"name", "v1alpha1"}, {"schema", {{"openAPIV3Schema", schema}}}}}}}}};
}

TEST(ServedSchema, FieldsOfListsAreLookedAtToo) {
  const Json stages = {{"items", {{"properties", {{"firstLayer", {}}, {"endLayer", {}}}}}}};
  const auto missing = MissingStatusFields(Definition({{"state", {}}, {"stages", stages}}));
  EXPECT_THAT(missing, Contains("status.stages.workers"));
  EXPECT_THAT(missing, Contains("status.step"));
  EXPECT_THAT(missing, Not(Contains("status.state")));
  EXPECT_THAT(missing, Not(Contains("status.stages.firstLayer")));
  EXPECT_THAT(MissingStatusFields(Json::object()), testing::ElementsAre("version v1alpha1"));
}

TEST(ServedSchema, OurOwnDefinitionHasThemAll) {
  std::ifstream file(FREEZEPIPE_SOURCE_DIR "/deploy/crd/freezepipe.io_freezepipejobs.yaml");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<ManifestFault> faults;
  EXPECT_THAT(MissingStatusFields(ReadYaml(text, "the definition", &faults)), IsEmpty());
}

TEST(ServedSchema, AnOlderDefinitionIsToldOf) {
  auto server = std::make_shared<kube::FakeApiServer>();
  kube::Client client(server, {});
  constexpr kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                        /*namespaced=*/false};
  ASSERT_TRUE(client.Create(kDefinitions, Definition({{"state", Json::object()}})).ok());
  const absl::Status checked = CheckServedSchema(client);
  EXPECT_TRUE(absl::IsFailedPrecondition(checked));
  EXPECT_THAT(std::string(checked.message()), HasSubstr("status.freezeLog"));
}

}  // namespace
}  // namespace freezepipe::reconciler
