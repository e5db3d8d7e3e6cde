#pragma once

#include <CLI/App.hpp>

namespace freezepipe::cli {

/// `freezepipe run`; its exit code goes to *exit_code.
void AddRunCommand(CLI::App* app, int* exit_code);

}  // namespace freezepipe::cli
