#pragma once

#include <absl/status/statusor.h>

#include <string_view>

#include "operator/kube/object.h"

namespace freezepipe::kube {

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark };

  Type type;
  Json object;
};

/// One line of a watch. An ERROR becomes the status that the same trouble has as an HTTP answer;
/// kDataLoss: the line is no event.
absl::StatusOr<WatchEvent> ParseWatchEvent(std::string_view line, const std::string& doing);

}  // namespace freezepipe::kube
