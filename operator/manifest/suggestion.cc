#include "operator/manifest/suggestion.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <numeric>

namespace freezepipe {
namespace {

std::string Normalized(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (c != '_' && c != '-' && c != ' ')
      letters += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return letters;
}

/// Letters to insert, drop or replace to make one word of the other (Levenshtein).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> NearestTo(std::string_view word,
                                     const std::vector<std::string>& candidates) {
  const std::string wanted = Normalized(word);
  std::optional<std::string> nearest;
  // A third of the letters may be wrong, three at most.
  size_t least = std::min<size_t>(wanted.size() / 3, 3) + 1;
  for (const auto& candidate : candidates) {
    const size_t distance = EditDistance(wanted, Normalized(candidate));
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace freezepipe
