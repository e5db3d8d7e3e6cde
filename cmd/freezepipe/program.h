#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

namespace freezepipe::cli {

/// A program that is run to its end.
struct Program {
  /// Path, then arguments.
  std::vector<std::string> arguments;
  /// Text of its stdin.
  std::string input;
  /// "NAME=value", on top of this process's own.
  std::vector<std::string> environment;
};

/// Its stdout. When it does not exit with 0, the error says how it ended and what it wrote to
/// stderr. Call it from the main thread: the program dies with the calling one.
absl::StatusOr<std::string> RunProgram(const Program& program);

}  // namespace freezepipe::cli
