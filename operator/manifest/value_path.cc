#include "operator/manifest/value_path.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

namespace freezepipe {

std::optional<ValuePath> ValuePath::Parse(std::string_view text) {
  ValuePath path;
  for (absl::string_view part : absl::StrSplit(absl::string_view(text.data(), text.size()), '.')) {
    const size_t bracket = part.find('[');
    const auto name = part.substr(0, bracket);
    if (name.empty() || name.find(']') != name.npos) return std::nullopt;
    path.steps_.emplace_back(std::string(name));
    for (auto rest = bracket == part.npos ? absl::string_view() : part.substr(bracket);
         !rest.empty();) {
      const size_t end = rest.find(']');
      uint32_t index = 0;
      if (rest[0] != '[' || end == rest.npos ||
          !absl::SimpleAtoi(rest.substr(1, end - 1), &index)) {
        return std::nullopt;
      }
      path.steps_.emplace_back(size_t{index});
      rest.remove_prefix(end + 1);
    }
  }
  return path;
}

ValuePath ValuePath::Field(std::string_view name) const {
  ValuePath path = *this;
  path.steps_.emplace_back(std::string(name));
  return path;
}

ValuePath ValuePath::Item(size_t index) const {
  ValuePath path = *this;
  path.steps_.emplace_back(index);
  return path;
}

std::string ValuePath::ToString() const {
  std::string text;
  for (const auto& step : steps_) {
    if (const auto* name = std::get_if<std::string>(&step)) {
      if (name->find_first_of(".[]\"") != name->npos) {
        absl::StrAppend(&text, "[\"", *name, "\"]");
      } else {
        absl::StrAppend(&text, text.empty() ? "" : ".", *name);
      }
    } else {
      absl::StrAppend(&text, "[", std::get<size_t>(step), "]");
    }
  }
  return text;
}

}  // namespace freezepipe
