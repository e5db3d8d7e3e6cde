#include "cmd/freezepipe/manifest_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace freezepipe::cli {

void AddManifestOptions(CLI::App* command, ManifestOptions* options) {
  command->add_option("FILE", options->path, "Manifest of a FreezePipeJob, YAML or JSON")
      ->required()
      ->type_name("");
  command
      ->add_option("--set", options->sets,
                   "Put a value in the manifest's place, e.g. training.epochs=2; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

}  // namespace freezepipe::cli
