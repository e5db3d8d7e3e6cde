#include "proto/defaults.h"

#include <nlohmann/json.hpp>

#include "freezepipe/v1alpha1/schema.pb.h"

namespace freezepipe {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void SetDefault(Message* message, const FieldDescriptor* field, const nlohmann::json& value) {
  const auto* reflection = message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      reflection->SetInt32(message, field, value.get<int32_t>());
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      reflection->SetDouble(message, field, value.get<double>());
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      reflection->SetBool(message, field, value.get<bool>());
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      reflection->SetString(message, field, value.get<std::string>());
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      reflection->SetEnum(message, field,
                          field->enum_type()->FindValueByName(value.get<std::string>()));
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      reflection->MutableMessage(message, field);  // the default of a message is {}
      break;
    default:
      break;  // job.proto has no other type with a default
  }
}

}  // namespace

void ApplyDefaults(Message* message) {
  const auto* descriptor = message->GetDescriptor();
  const auto* reflection = message->GetReflection();
  if (descriptor->file()->package() != "freezepipe.v1alpha1") return;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    const auto& schema = field->options().GetExtension(v1alpha1::field);
    // Without presence the absent value is zero, and so is the default.
    if (schema.has_default_() && field->has_presence() && !reflection->HasField(*message, field)) {
      SetDefault(message, field, nlohmann::json::parse(schema.default_()));
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->is_repeated()) {
      for (int j = 0; j < reflection->FieldSize(*message, field); ++j) {
        ApplyDefaults(reflection->MutableRepeatedMessage(message, field, j));
      }
    } else if (reflection->HasField(*message, field)) {
      ApplyDefaults(reflection->MutableMessage(message, field));
    }
  }
}

}  // namespace freezepipe
