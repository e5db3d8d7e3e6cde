#pragma once

#include <string>

namespace freezepipe::cli {

/// How a line stands out on a terminal.
enum class Style { kPlain, kTitle, kBar, kDim, kNote, kGood, kWarning };

struct StyledLine {
  std::string text;
  Style style = Style::kPlain;

  bool operator==(const StyledLine&) const = default;
};

}  // namespace freezepipe::cli
