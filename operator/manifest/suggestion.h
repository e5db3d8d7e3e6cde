#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freezepipe {

/// The candidate that was probably meant by a misspelt word: equal but for case, '-' and '_', or a
/// few letters away. Nothing if none is near.
std::optional<std::string> NearestTo(std::string_view word,
                                     const std::vector<std::string>& candidates);

}  // namespace freezepipe
