#include "proto/schema/open_api.h"

#include <cmath>

#include "proto/schema/comments.h"

namespace freezepipe::schema {
namespace {

/// Not Kubernetes': for the words of `freezepipe validate`.
constexpr char kPatternMeaning[] = "x-freezepipe-pattern-meaning";

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using nlohmann::ordered_json;

constexpr char kTimestamp[] = "google.protobuf.Timestamp";
constexpr char kStruct[] = "google.protobuf.Struct";

/// Limits of whole numbers are written without a fraction.
ordered_json Number(double value) {
  if (value == std::trunc(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

std::string Description(const std::string& comment, const v1alpha1::FieldSchema& schema) {
  if (!schema.has_unit()) return comment;
  return comment + " Unit: " + schema.unit() + ".";
}

void AddStringLimits(const v1alpha1::FieldSchema& schema, ordered_json* node) {
  if (schema.has_min_length()) (*node)["minLength"] = schema.min_length();
  if (schema.has_max_length()) (*node)["maxLength"] = schema.max_length();
  if (schema.has_pattern()) (*node)["pattern"] = schema.pattern();
  if (schema.has_pattern_meaning()) (*node)[kPatternMeaning] = schema.pattern_meaning();
}

/// The API server warns of format int32 and doesn't hold numbers to it: where there is no narrower
/// limit, say the type's.
void AddNumberLimits(const v1alpha1::FieldSchema& schema, ordered_json* node) {
  const bool integer = node->value("type", "") == "integer";
  if (integer) (*node)["minimum"] = INT32_MIN;
  if (integer) (*node)["maximum"] = INT32_MAX;
  if (schema.has_minimum()) (*node)["minimum"] = Number(schema.minimum());
  if (schema.exclusive_minimum()) (*node)["exclusiveMinimum"] = true;
  if (schema.has_maximum()) (*node)["maximum"] = Number(schema.maximum());
  if (schema.exclusive_maximum()) (*node)["exclusiveMaximum"] = true;
}

ordered_json MessageSchema(const Descriptor* message, const std::string& description);

ordered_json MessageValueSchema(const FieldDescriptor* field, const std::string& description) {
  const std::string& name = field->message_type()->full_name();
  if (name == kTimestamp) {
    return {{"type", "string"}, {"format", "date-time"}, {"description", description}};
  }
  if (name == kStruct) {
    return {{"type", "object"},
            {"description", description},
            {"x-kubernetes-preserve-unknown-fields", true}};
  }
  return MessageSchema(field->message_type(), description);
}

/// Schema of one value of a field: of the field itself, or of an item where it is repeated.
ordered_json ValueSchema(const FieldDescriptor* field, const std::string& description) {
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return MessageValueSchema(field, description);
  }
  ordered_json node;
  const auto describe = [&](const char* type) {
    node["type"] = type;
    if (!description.empty()) node["description"] = description;
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      describe("integer");
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      describe("number");
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      describe("boolean");
      break;
    default:
      describe("string");
  }
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    for (int i = 0; i < field->enum_type()->value_count(); ++i) {
      node["enum"].push_back(field->enum_type()->value(i)->name());
    }
  }
  return node;
}

/// The API server runs a message's rules on its default as it stands, before the fields' own
/// defaults are in: where there are rules, the default spells out what they may read.
ordered_json DefaultOf(const FieldDescriptor* field) {
  auto value = ordered_json::parse(SchemaOf(field).default_());
  const auto* message = field->message_type();
  if (message == nullptr || message->options().ExtensionSize(v1alpha1::rules) == 0) return value;
  for (int i = 0; i < message->field_count(); ++i) {
    const auto* inner = message->field(i);
    if (inner->message_type() != nullptr || !SchemaOf(inner).has_default_()) continue;
    value[inner->json_name()] = ordered_json::parse(SchemaOf(inner).default_());
  }
  return value;
}

ordered_json FieldNode(const FieldDescriptor* field) {
  const auto& schema = SchemaOf(field);
  const std::string description = Description(CommentOf(field), schema);
  if (field->is_repeated()) {
    ordered_json node = {{"type", "array"}, {"description", description}};
    if (schema.has_min_items()) node["minItems"] = schema.min_items();
    if (schema.has_max_items()) node["maxItems"] = schema.max_items();
    if (schema.unique_items()) node["x-kubernetes-list-type"] = "set";
    node["items"] = ValueSchema(
        field, field->message_type() != nullptr ? CommentOf(field->message_type()) : std::string());
    v1alpha1::FieldSchema item;
    if (schema.has_item_minimum()) item.set_minimum(schema.item_minimum());
    AddNumberLimits(item, &node["items"]);
    return node;
  }
  ordered_json node = ValueSchema(field, description);
  AddStringLimits(schema, &node);
  AddNumberLimits(schema, &node);
  if (schema.has_default_()) node["default"] = DefaultOf(field);
  return node;
}

ordered_json MessageSchema(const Descriptor* message, const std::string& description) {
  ordered_json node = {{"type", "object"}, {"description", description}};
  ordered_json required = ordered_json::array();
  ordered_json properties = ordered_json::object();
  for (int i = 0; i < message->field_count(); ++i) {
    const auto* field = message->field(i);
    if (IsObjectField(field)) continue;
    if (SchemaOf(field).required()) required.push_back(field->json_name());
    properties[field->json_name()] = FieldNode(field);
  }
  if (!required.empty()) node["required"] = std::move(required);
  node["properties"] = std::move(properties);
  for (const auto& rule : message->options().GetRepeatedExtension(v1alpha1::rules)) {
    node["x-kubernetes-validations"].push_back(
        {{"rule", rule.rule()}, {"message", rule.message()}, {"fieldPath", rule.field_path()}});
  }
  return node;
}

/// Refuses what the schema doesn't name, at every depth, and replaces formats by what they stand
/// for.
void Close(ordered_json* node) {
  if (node->contains("properties") && !node->contains("x-kubernetes-preserve-unknown-fields")) {
    (*node)["additionalProperties"] = false;
  }
  if (node->value("x-kubernetes-list-type", "") == "set") (*node)["uniqueItems"] = true;
  const std::string format = node->value("format", "");
  node->erase("format");
  if (format == "date-time") {
    (*node)["pattern"] =
        "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-"
        "9]"
        "(\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";
    (*node)[kPatternMeaning] = "a date and time such as 2030-01-31T12:00:00Z";
  }
  if (node->contains("items")) Close(&(*node)["items"]);
  if (!node->contains("properties")) return;
  for (auto& property : (*node)["properties"]) Close(&property);
}

std::string FaultIn(const FieldDescriptor* field) {
  const auto& schema = SchemaOf(field);
  if (IsObjectField(field)) return "";
  if (CommentOf(field).empty()) return field->full_name() + " has no comment";
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_ENUM:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
    default:
      return field->full_name() + ": " + field->cpp_type_name() +
             " is not exact in JSON; use int32 or double";
  }
  if (field->is_map()) return field->full_name() + ": maps are not supported";
  if (field->enum_type() != nullptr) {
    if (field->enum_type()->containing_type() == nullptr) {
      return field->full_name() + ": its enum must be nested in a message of its own";
    }
    for (int i = 0; i < field->enum_type()->value_count(); ++i) {
      const auto* value = field->enum_type()->value(i);
      if (CommentOf(value).empty()) return value->full_name() + " has no comment";
    }
  }
  if (!schema.has_default_()) return "";
  if (schema.required()) return field->full_name() + ": a required field has no default";
  const auto value = ordered_json::parse(schema.default_(), nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return field->full_name() + ": its default is not JSON";
  const bool zero =
      value == 0 || value == false || value == "" ||
      (field->enum_type() != nullptr && value == field->enum_type()->value(0)->name());
  if (!field->has_presence() && !zero) {
    return field->full_name() + ": must be optional, as its default is not zero";
  }
  return "";
}

std::string FaultInMessage(const Descriptor* message) {
  if (CommentOf(message).empty()) return message->full_name() + " has no comment";
  for (const auto& rule : message->options().GetRepeatedExtension(v1alpha1::rules)) {
    if (rule.id().empty() || rule.rule().empty() || rule.message().empty() ||
        rule.field_path().empty()) {
      return message->full_name() + ": a rule needs id, rule, message and field_path";
    }
  }
  for (int i = 0; i < message->field_count(); ++i) {
    const auto* field = message->field(i);
    if (auto fault = FaultIn(field); !fault.empty()) return fault;
    const auto* type = field->message_type();
    if (type == nullptr || type->file() != message->file()) continue;
    if (auto fault = FaultInMessage(type); !fault.empty()) return fault;
  }
  return "";
}

/// Without what is not Kubernetes'.
void Strip(ordered_json* node) {
  node->erase(kPatternMeaning);
  if (node->contains("items")) Strip(&(*node)["items"]);
  if (!node->contains("properties")) return;
  for (auto& property : (*node)["properties"]) Strip(&property);
}

ordered_json WholeSchema(const Descriptor* resource) {
  const auto& options = resource->options().GetExtension(v1alpha1::resource);
  ordered_json name = {{"type", "string"}};
  AddStringLimits(options.name(), &name);
  ordered_json schema = MessageSchema(resource, CommentOf(resource));
  ordered_json properties = {
      {"apiVersion",
       {{"type", "string"},
        {"description",
         "Version of the schema: " + options.group() + "/" + options.version() + "."}}},
      {"kind",
       {{"type", "string"}, {"description", "Kind of the object: " + resource->name() + "."}}},
      {"metadata", {{"type", "object"}, {"properties", {{"name", std::move(name)}}}}}};
  properties.update(schema["properties"]);
  schema["properties"] = std::move(properties);
  return schema;
}

}  // namespace

const v1alpha1::FieldSchema& SchemaOf(const FieldDescriptor* field) {
  return field->options().GetExtension(v1alpha1::field);
}

bool IsObjectField(const FieldDescriptor* field) {
  return field->containing_type()->options().HasExtension(v1alpha1::resource) &&
         (field->name() == "api_version" || field->name() == "kind" || field->name() == "metadata");
}

bool IsEnumScope(const Descriptor* message) {
  return message->field_count() == 0 && message->enum_type_count() > 0;
}

ordered_json ResourceSchema(const Descriptor* resource) {
  ordered_json schema = WholeSchema(resource);
  Strip(&schema);
  return schema;
}

ordered_json ValidationSchema(const Descriptor* resource) {
  const auto& options = resource->options().GetExtension(v1alpha1::resource);
  ordered_json schema = WholeSchema(resource);
  Close(&schema);
  auto& properties = schema["properties"];
  properties["apiVersion"]["enum"] = {options.group() + "/" + options.version()};
  properties["kind"]["enum"] = {resource->name()};
  auto& metadata = properties["metadata"];
  metadata.erase("additionalProperties");
  metadata["x-kubernetes-preserve-unknown-fields"] = true;
  metadata["required"] = {"name"};
  ordered_json required = {"apiVersion", "kind", "metadata"};
  for (const auto& field : schema["required"]) required.push_back(field);
  schema["required"] = std::move(required);
  return schema;
}

std::string FaultIn(const Descriptor* resource) { return FaultInMessage(resource); }

}  // namespace freezepipe::schema
