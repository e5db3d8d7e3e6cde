#pragma once

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>

namespace freezepipe::schema {

/// The CustomResourceDefinition of a message that carries the `resource` option.
nlohmann::ordered_json CustomResourceDefinition(const google::protobuf::Descriptor* resource);

}  // namespace freezepipe::schema
