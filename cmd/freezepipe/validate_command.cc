#include "cmd/freezepipe/validate_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>
#include <memory>

#include "cmd/freezepipe/exit_code.h"
#include "cmd/freezepipe/manifest_input.h"
#include "cmd/freezepipe/manifest_options.h"

namespace freezepipe::cli {
namespace {

int Validate(const ManifestOptions& options) {
  if (!ReadJob(options.path, options.sets)) return kBadInput;
  std::cout << options.path << " is valid\n";
  return kDone;
}

}  // namespace

void AddValidateCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("validate", "Check a manifest and report all its faults");
  auto options = std::make_shared<ManifestOptions>();
  AddManifestOptions(command, options.get());
  command->footer(
      "Checks names, types, limits and the rules between fields. What only the data can tell "
      "(files, shapes,\n"
      "layers against stages) `freezepipe describe` and `freezepipe run` check.\n\n"
      "Example:\n"
      "  freezepipe validate examples/fashion-mnist.yaml --set training.epochs=2");
  command->callback([=] { *exit_code = Validate(*options); });
}

}  // namespace freezepipe::cli
