#include "proto/schema/comments.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>

namespace freezepipe::schema {

std::string RunningText(const std::string& comment) {
  std::string text;
  bool paragraph_ended = false;
  for (absl::string_view line : absl::StrSplit(comment, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) {
      paragraph_ended = true;
      continue;
    }
    if (!text.empty()) text += paragraph_ended ? "\n\n" : " ";
    text.append(line.data(), line.size());
    paragraph_ended = false;
  }
  return text;
}

}  // namespace freezepipe::schema
