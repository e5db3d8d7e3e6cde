#include "cmd/freezepipe/view/text.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <cmath>

namespace freezepipe::cli {

std::string Clock(double seconds) {
  const int64_t whole = std::llround(std::fmax(seconds, 0));
  const int64_t minutes = whole / 60;
  if (minutes < 60) return absl::StrFormat("%d:%02d", minutes, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", minutes / 60, minutes % 60, whole % 60);
}

std::string Duration(double seconds) {
  const int64_t whole = std::llround(std::fmax(seconds, 0));
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrCat(whole / 60, " min ", whole % 60, " s");
  return absl::StrCat(whole / 3600, " h ", whole / 60 % 60, " min");
}

std::string Bytes(double bytes) {
  if (bytes < 1000) return absl::StrFormat("%.0f B", bytes);
  const char* const units[] = {"kB", "MB", "GB", "TB"};
  int unit = 0;
  double value = bytes / 1000;
  // 999.95 would be printed as 1000.0.
  while (value >= 999.95 && unit < 3) {
    value /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, units[unit]);
}

std::string Thousands(double number) {
  std::string digits = absl::StrCat(std::llround(std::fmax(number, 0)));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, 1, ',');
  return digits;
}

std::string Percent(double share, int decimals) {
  return absl::StrFormat("%.*f %%", decimals, 100 * share);
}

std::string Counted(int count, const std::string& what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

}  // namespace freezepipe::cli
