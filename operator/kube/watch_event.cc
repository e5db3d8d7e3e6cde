#include "operator/kube/watch_event.h"

#include <absl/strings/str_cat.h>

#include <array>
#include <utility>

#include "operator/kube/api_error.h"

namespace freezepipe::kube {
namespace {

using Type = WatchEvent::Type;

constexpr std::array kTypes = {
    std::pair<std::string_view, Type>{"ADDED", Type::kAdded},
    std::pair<std::string_view, Type>{"MODIFIED", Type::kModified},
    std::pair<std::string_view, Type>{"DELETED", Type::kDeleted},
    std::pair<std::string_view, Type>{"BOOKMARK", Type::kBookmark},
};

}  // namespace

absl::StatusOr<WatchEvent> ParseWatchEvent(std::string_view line, const std::string& doing) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const std::string type = TextAt(json, Json::json_pointer("/type"));
  if (json.is_object() && json.contains("object") && json.at("object").is_object()) {
    if (type == "ERROR") return ApiError(json.at("object"), doing);
    for (const auto& [name, value] : kTypes) {
      if (name == type) return WatchEvent{.type = value, .object = std::move(json.at("object"))};
    }
  }
  return absl::DataLossError(
      absl::StrCat(doing, ": not an event of a watch: ", std::string(line.substr(0, 200))));
}

}  // namespace freezepipe::kube
