#include "proto/defaults.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "freezepipe/v1alpha1/job.pb.h"
#include "freezepipe/v1alpha1/schema.pb.h"

namespace freezepipe {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using v1alpha1::FreezePipeJob;

TEST(ApplyDefaultsTest, FillsAbsentFieldsAtEveryDepth) {
  FreezePipeJob job;
  job.mutable_spec();
  ApplyDefaults(&job);
  EXPECT_EQ(job.spec().pipeline().micro_batches(), 4);
  EXPECT_EQ(job.spec().worker().count(), 1);
  EXPECT_DOUBLE_EQ(job.spec().freeze().gradient_change().brake_span(), 0.6);
  EXPECT_EQ(job.spec().freeze().policy(), v1alpha1::FreezePolicy::GradientChange);
  EXPECT_TRUE(job.spec().dataset().path().empty());
}

TEST(ApplyDefaultsTest, KeepsWhatIsGivenEvenZero) {
  FreezePipeJob job;
  auto* optimizer = job.mutable_spec()->mutable_training()->mutable_optimizer();
  optimizer->set_momentum(0);
  job.mutable_spec()->mutable_freeze()->mutable_gradient_change()->set_patience(7);
  ApplyDefaults(&job);
  EXPECT_EQ(optimizer->momentum(), 0);
  EXPECT_DOUBLE_EQ(optimizer->learning_rate(), 0.05);
  EXPECT_EQ(job.spec().freeze().gradient_change().patience(), 7);
}

TEST(ApplyDefaultsTest, LeavesWhatHasNoDefaultAbsent) {
  FreezePipeJob job;
  job.mutable_spec();
  ApplyDefaults(&job);
  EXPECT_FALSE(job.spec().has_model());
  EXPECT_FALSE(job.has_status());
  EXPECT_FALSE(job.spec().freeze().gradient_change().has_threshold());
  EXPECT_FALSE(job.spec().freeze().gradient_change().has_brake());
}

TEST(ApplyDefaultsTest, ReachesTheItemsOfLists) {
  FreezePipeJob job;
  auto* entry = job.mutable_spec()->mutable_freeze()->add_manual();
  entry->set_boundary(2);
  ApplyDefaults(&job);
  EXPECT_EQ(job.spec().freeze().manual_size(), 1);
  EXPECT_EQ(job.spec().freeze().manual(0).boundary(), 2);
}

TEST(ApplyDefaultsTest, DoesNotTouchATemplate) {
  FreezePipeJob job;
  auto& fields = *job.mutable_spec()->mutable_worker()->mutable_template_()->mutable_fields();
  fields["spec"].set_string_value("kept");
  const auto before = job.spec().worker().template_().SerializeAsString();
  ApplyDefaults(&job);
  EXPECT_EQ(job.spec().worker().template_().SerializeAsString(), before);
}

void Visit(const Descriptor* message, std::set<const Descriptor*>* seen) {
  if (message->file()->package() != "freezepipe.v1alpha1" || !seen->insert(message).second) return;
  for (int i = 0; i < message->field_count(); ++i) {
    if (message->field(i)->message_type() != nullptr)
      Visit(message->field(i)->message_type(), seen);
  }
}

// Defaults apply twice with one result, and every one of them is of its field's type (else this
// throws).
TEST(ApplyDefaultsTest, EveryDefaultInTheProtoCanBeApplied) {
  std::set<const Descriptor*> messages;
  Visit(FreezePipeJob::descriptor(), &messages);
  int defaults = 0;
  for (const auto* descriptor : messages) {
    auto* factory = google::protobuf::MessageFactory::generated_factory();
    const std::unique_ptr<google::protobuf::Message> message(
        factory->GetPrototype(descriptor)->New());
    ApplyDefaults(message.get());
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const auto* field = descriptor->field(i);
      if (!field->options().GetExtension(v1alpha1::field).has_default_()) continue;
      ++defaults;
      if (field->has_presence()) {
        EXPECT_TRUE(message->GetReflection()->HasField(*message, field)) << field->full_name();
      }
    }
    const auto once = message->SerializeAsString();
    ApplyDefaults(message.get());
    EXPECT_EQ(message->SerializeAsString(), once);
  }
  EXPECT_GT(defaults, 40);
}

}  // namespace
}  // namespace freezepipe
