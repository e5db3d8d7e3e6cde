#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace freezepipe::schema {

/// The reference page (Markdown) of a message that carries the `resource` option: a section for
/// each message in it, with a table of its fields, the values of its enums and its cross-field
/// rules.
std::string ReferencePage(const google::protobuf::Descriptor* resource);

}  // namespace freezepipe::schema
