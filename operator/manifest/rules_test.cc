#include "operator/manifest/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "freezepipe/v1alpha1/schema.pb.h"
#include "proto/defaults.h"

namespace freezepipe {
namespace {

using google::protobuf::Descriptor;

void CollectRuleIds(const Descriptor* message, std::set<const Descriptor*>* seen,
                    std::multiset<std::string>* ids) {
  if (!seen->insert(message).second) return;
  for (const auto& rule : message->options().GetRepeatedExtension(v1alpha1::rules)) {
    if (!rule.transition()) ids->insert(rule.id());
  }
  for (int i = 0; i < message->field_count(); ++i) {
    const auto* type = message->field(i)->message_type();
    if (type != nullptr) CollectRuleIds(type, seen, ids);
  }
}

TEST(RulesTest, EachRuleOfTheProtoHasOneTwinAndEachTwinARule) {
  std::set<const Descriptor*> seen;
  std::multiset<std::string> in_proto;
  CollectRuleIds(v1alpha1::FreezePipeJob::descriptor(), &seen, &in_proto);
  EXPECT_THAT(NativeRuleIds(), testing::UnorderedElementsAreArray(in_proto));
}

v1alpha1::FreezePipeJob TwoStagesOnOneWorker() {
  v1alpha1::FreezePipeJob job;
  job.mutable_spec()->mutable_pipeline()->set_stages(2);
  ApplyDefaults(&job);
  return job;
}

TEST(RulesTest, SkipsARuleThatReadsAFaultyValue) {
  const ManifestFault broken = {"spec.pipeline.stages",
                                "pipeline.stages x pipeline.replicas must not exceed worker.count"};
  const auto job = TwoStagesOnOneWorker();
  EXPECT_THAT(CheckRules(job, {}), testing::Contains(broken));
  EXPECT_THAT(CheckRules(job, {{"spec.worker.count", "x"}}),
              testing::Not(testing::Contains(broken)));
  EXPECT_THAT(CheckRules(job, {{"spec.worker", "x"}}), testing::Not(testing::Contains(broken)));
  EXPECT_THAT(CheckRules(job, {{"spec.worker.threads", "x"}}), testing::Contains(broken));
  EXPECT_THAT(CheckRules(job, {{"spec.work", "x"}}), testing::Contains(broken));
}

}  // namespace
}  // namespace freezepipe
