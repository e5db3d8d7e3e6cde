#include "operator/reconciler/pod_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freezepipe::reconciler {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> Faults(const Json& pod_template) {
  return FaultsOfTemplate({{"spec", {{"worker", {{"template", pod_template}}}}}});
}

TEST(PodTemplate, MostIsTheUsersToSay) {
  EXPECT_THAT(FaultsOfTemplate({{"spec", {{"worker", Json::object()}}}}), IsEmpty());
  EXPECT_THAT(
      Faults({{"metadata", {{"labels", {{"team", "vision"}}}}},
              {"spec",
               {{"nodeSelector", {{"gpu", "h200"}}},
                {"containers",
                 {{{"name", "sidecar"}, {"command", {"sleep"}}},
                  {{"name", "worker"}, {"image", "mine"}, {"env", {{{"name", "MINE"}}}}}}}}}}),
      IsEmpty());
}

TEST(PodTemplate, WhatIsOursIsRefusedByItsPath) {
  EXPECT_THAT(Faults({{"metadata", {{"name", "x"}, {"labels", {{"freezepipe.io/job", "other"}}}}}}),
              ElementsAre(StartsWith("spec.worker.template.metadata.name: "),
                          StartsWith("spec.worker.template.metadata.labels[freezepipe.io/job]: ")));
  EXPECT_THAT(
      Faults({{"spec",
               {{"restartPolicy", "Never"},
                {"containers",
                 {{{"name", "worker"}, {"args", {"x"}}, {"env", {{{"name", "POD_IP"}}}}}}}}}}),
      ElementsAre(StartsWith("spec.worker.template.spec.restartPolicy: "),
                  StartsWith("spec.worker.template.spec.containers[0].args: "),
                  StartsWith("spec.worker.template.spec.containers[0].env[0]: ")));
}

TEST(PodTemplate, WhatIsNoPodIsRefusedBeforeOneIsMadeOfIt) {
  EXPECT_THAT(Faults("a pod"),
              ElementsAre("spec.worker.template: must be an object, not \"a pod\""));
  EXPECT_THAT(Faults({{"spec", {{"containers", "none"}}}}),
              ElementsAre("spec.worker.template.spec.containers: must be a list, not \"none\""));
  EXPECT_THAT(Faults({{"spec", {{"containers", {1}}}}}),
              ElementsAre("spec.worker.template.spec.containers[0]: must be an object, not 1"));
  EXPECT_THAT(Faults({{"spec", {{"containers", {{{"name", 7}}}}}}}),
              ElementsAre("spec.worker.template.spec.containers[0].name: must be a string, not 7"));
}

}  // namespace
}  // namespace freezepipe::reconciler
