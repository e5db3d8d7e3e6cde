#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace freezepipe {

/// A step from a value into it: the name of a field, or the index of an item.
using PathStep = std::variant<std::string, size_t>;

/// The way to a value in a manifest.
class ValuePath {
 public:
  ValuePath() = default;

  /// Parses "spec.freeze.manual[0].boundary"; nothing if it isn't of that form.
  static std::optional<ValuePath> Parse(std::string_view text);

  ValuePath Field(std::string_view name) const;
  ValuePath Item(size_t index) const;

  const std::vector<PathStep>& steps() const { return steps_; }
  /// As Parse takes it; names that would be ambiguous are put in brackets and quotes, which Parse
  /// refuses.
  std::string ToString() const;

 private:
  std::vector<PathStep> steps_;
};

}  // namespace freezepipe
