#pragma once

#include <CLI/App.hpp>

namespace freezepipe::cli {

/// `freezepipe describe`; its exit code goes to *exit_code.
void AddDescribeCommand(CLI::App* app, int* exit_code);

}  // namespace freezepipe::cli
