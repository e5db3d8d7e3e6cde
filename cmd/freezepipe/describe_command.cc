#include "cmd/freezepipe/describe_command.h"

#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "cmd/freezepipe/exit_code.h"
#include "cmd/freezepipe/manifest_input.h"
#include "cmd/freezepipe/manifest_options.h"
#include "cmd/freezepipe/messages.h"
#include "cmd/freezepipe/view/text.h"
#include "cmd/freezepipe/worker_program.h"

namespace freezepipe::cli {
namespace {

void PrintLayers(const v1alpha1::JobDescription& description) {
  size_t columns = 5;
  for (const auto& layer : description.layers()) columns = std::max(columns, layer.name().size());
  const int name = static_cast<int>(columns);
  std::cout << absl::StrFormat("%5s  %-*s  %12s  %s\n", "layer", name, "name", "parameters",
                               "output of a sample");
  double parameters = 0;
  for (int i = 0; i < description.layers_size(); ++i) {
    const auto& layer = description.layers(i);
    parameters += static_cast<double>(layer.parameters());
    std::cout << absl::StrFormat("%5d  %-*s  %12s  %s\n", i, name, layer.name(),
                                 Thousands(static_cast<double>(layer.parameters())),
                                 absl::StrJoin(layer.output_shape(), "x"));
  }
  std::cout << absl::StrFormat(
      "\n%s parameters, %d classes, %s training and %s test samples, %d steps an epoch\n",
      Thousands(parameters), description.classes(),
      Thousands(static_cast<double>(description.train_samples())),
      Thousands(static_cast<double>(description.test_samples())), description.steps_per_epoch());
}

int Describe(const ManifestOptions& options) {
  const auto job = ReadJob(options.path, options.sets);
  if (!job) return kBadInput;
  const auto worker = WorkerProgram::Find();
  if (!worker.ok()) {
    PrintError(worker.status());
    return kBadInput;
  }
  const auto description = worker->Describe(job->spec());
  if (!description.ok()) {
    PrintError(description.status());
    return kBadInput;
  }
  if (!CheckFaults(options.path, *description)) return kBadInput;
  PrintLayers(*description);
  return kDone;
}

}  // namespace

void AddDescribeCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "describe",
      "Print the layers and the data of a job, and check what a manifest alone can't say");
  auto options = std::make_shared<ManifestOptions>();
  AddManifestOptions(command, options.get());
  command->footer("Example:\n  freezepipe describe examples/fashion-mnist.yaml");
  command->callback([=] { *exit_code = Describe(*options); });
}

}  // namespace freezepipe::cli
