#pragma once

#include <CLI/App.hpp>

namespace freezepipe::cli {

/// `freezepipe plan`; its exit code goes to *exit_code.
void AddPlanCommand(CLI::App* app, int* exit_code);

}  // namespace freezepipe::cli
