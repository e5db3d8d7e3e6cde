#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace freezepipe::schema {

/// The comment above a declaration of a .proto file as running text: lines joined, one blank line
/// between paragraphs. Empty where there is none.
template <typename Descriptor>
std::string CommentOf(const Descriptor* descriptor);

/// Joins the lines of a raw comment; what CommentOf does to protoc's text.
std::string RunningText(const std::string& comment);

template <typename Descriptor>
std::string CommentOf(const Descriptor* descriptor) {
  google::protobuf::SourceLocation location;
  if (!descriptor->GetSourceLocation(&location)) return "";
  return RunningText(location.leading_comments);
}

}  // namespace freezepipe::schema
