#pragma once

#include <absl/functional/function_ref.h>

#include <string>
#include <string_view>

namespace freezepipe::kube {

/// Cuts what arrives piece by piece into lines. Empty lines are left out.
class LineSplitter {
 public:
  void Add(std::string_view piece, absl::FunctionRef<void(std::string_view line)> on_line);

 private:
  /// The beginning of a line whose end has yet to come.
  std::string begun_;
};

}  // namespace freezepipe::kube
