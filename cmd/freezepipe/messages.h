#pragma once

#include <absl/status/status.h>

#include <string>

namespace freezepipe::cli {

/// "freezepipe: error: WHAT" on stderr.
void PrintError(const std::string& what);
void PrintError(const absl::Status& status);

/// "freezepipe: warning: WHAT" on stderr.
void PrintWarning(const std::string& what);

}  // namespace freezepipe::cli
