#pragma once

#include <absl/status/status.h>

#include <string_view>

namespace freezepipe::operator_program {

/// One line on standard error, with the time. Thread-safe.
void LogInfo(std::string_view text);
void LogWarning(std::string_view text);

}  // namespace freezepipe::operator_program
