#pragma once

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>
#include <string>

#include "freezepipe/v1alpha1/schema.pb.h"

namespace freezepipe::schema {

/// The structural OpenAPI v3 schema (Kubernetes' dialect of it) of a message that carries the
/// `resource` option: types, descriptions, defaults, limits and CEL rules of everything in it.
nlohmann::ordered_json ResourceSchema(const google::protobuf::Descriptor* resource);

/// What `freezepipe validate` checks: ResourceSchema, closed (no property beside the named ones,
/// but where unknown fields are preserved), with what the API server checks by other means spelt
/// out: apiVersion, kind, metadata.name, dates. JSON Schema draft 4, whose
/// exclusive limits are OpenAPI's.
nlohmann::ordered_json ValidationSchema(const google::protobuf::Descriptor* resource);

/// Why a message can't be written as a resource schema: a type that JSON or Kubernetes can't carry
/// exactly, a declaration without a comment, a default that an absent field could not be told from.
/// Empty if all is well.
std::string FaultIn(const google::protobuf::Descriptor* resource);

/// True for a message that only wraps an enum, to give its values a scope of their own.
bool IsEnumScope(const google::protobuf::Descriptor* message);

/// The `field` option.
const v1alpha1::FieldSchema& SchemaOf(const google::protobuf::FieldDescriptor* field);

/// True for the fields that every Kubernetes object has: apiVersion, kind, metadata of a resource.
bool IsObjectField(const google::protobuf::FieldDescriptor* field);

}  // namespace freezepipe::schema
