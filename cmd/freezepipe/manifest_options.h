#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace freezepipe::cli {

/// What every command that takes a manifest shares.
struct ManifestOptions {
  std::string path;
  std::vector<std::string> sets;
};

/// Adds FILE and --set.
void AddManifestOptions(CLI::App* command, ManifestOptions* options);

}  // namespace freezepipe::cli
