#include "cmd/freezepipe/plan_command.h"

#include <absl/strings/str_cat.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "cmd/freezepipe/exit_code.h"
#include "cmd/freezepipe/manifest_input.h"
#include "cmd/freezepipe/manifest_options.h"
#include "cmd/freezepipe/messages.h"
#include "cmd/freezepipe/worker_program.h"
#include "files/durable_file.h"
#include "operator/planner/plan_table.h"
#include "operator/report/json.h"

namespace freezepipe::cli {
namespace {

struct PlanOptions {
  ManifestOptions manifest;
  std::vector<int> boundaries = {0};
  std::string profile;
  std::string save_profile;
};

absl::StatusOr<v1alpha1::ModelProfile> ReadProfile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  v1alpha1::ModelProfile profile;
  const absl::Status read = report::FromJson(text.str(), &profile);
  if (!read.ok() || profile.layers().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path,
                                                   " holds no profile as --save-profile writes it",
                                                   read.ok() ? "" : ": ", read.message()));
  }
  return profile;
}

absl::StatusOr<v1alpha1::ModelProfile> Measure(const std::string& path,
                                               const v1alpha1::FreezePipeJobSpec& spec) {
  const auto worker = WorkerProgram::Find();
  if (!worker.ok()) return worker.status();
  const auto description = worker->Describe(spec);
  if (!description.ok()) return description.status();
  if (!CheckFaults(path, *description)) return absl::InvalidArgumentError("no plan was made");
  std::cerr << "measuring " << description->layers_size() << " layers ...\n";
  return worker->Profile(spec);
}

int Plan(const PlanOptions& options) {
  const auto job = ReadJob(options.manifest.path, options.manifest.sets);
  if (!job) return kBadInput;
  const auto profile = options.profile.empty() ? Measure(options.manifest.path, job->spec())
                                               : ReadProfile(options.profile);
  if (!profile.ok()) {
    PrintError(profile.status());
    return kBadInput;
  }
  if (!options.save_profile.empty()) {
    const absl::Status saved =
        files::WriteDurably(std::filesystem::absolute(options.save_profile),
                            {report::ToJson(*profile, report::JsonLayout::kIndented)});
    if (!saved.ok()) {
      PrintError(saved);
      return kBadInput;
    }
  }
  try {
    std::cout << planner::PlanTable(job->spec(), *profile, options.boundaries);
  } catch (const std::invalid_argument& error) {
    PrintError(error.what());
    return kBadInput;
  }
  return kDone;
}

}  // namespace

void AddPlanCommand(CLI::App* app, int* exit_code) {
  CLI::App* command =
      app->add_subcommand("plan", "Print how a job would be cut into stages as its layers freeze");
  auto options = std::make_shared<PlanOptions>();
  AddManifestOptions(command, &options->manifest);
  command
      ->add_option("--boundary", options->boundaries,
                   "Plan for so many frozen layers; several make a table each (default: 0)")
      ->type_name("N ...");
  command
      ->add_option("--profile", options->profile,
                   "Layer times from this file instead of measuring them here")
      ->type_name("FILE");
  command->add_option("--save-profile", options->save_profile, "Keep the layer times in this file")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  freezepipe plan examples/fashion-mnist.yaml --boundary 0 3 6 --save-profile vgg.json\n"
      "  freezepipe plan examples/fashion-mnist.yaml --profile vgg.json --set worker.count=8");
  command->callback([=] { *exit_code = Plan(*options); });
}

}  // namespace freezepipe::cli
