#pragma once

#include <CLI/App.hpp>

namespace freezepipe::cli {

/// `freezepipe validate`; its exit code goes to *exit_code.
void AddValidateCommand(CLI::App* app, int* exit_code);

}  // namespace freezepipe::cli
