#include "cmd/freezepipe/run_command.h"

#include <absl/strings/str_cat.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <iostream>
#include <memory>

#include "cmd/freezepipe/device_choice.h"
#include "cmd/freezepipe/exit_code.h"
#include "cmd/freezepipe/local_run.h"
#include "cmd/freezepipe/manifest_input.h"
#include "cmd/freezepipe/manifest_options.h"
#include "cmd/freezepipe/messages.h"
#include "cmd/freezepipe/output_directory.h"
#include "cmd/freezepipe/resume_point.h"
#include "cmd/freezepipe/worker_program.h"

namespace freezepipe::cli {
namespace {

struct RunOptions {
  ManifestOptions manifest;
  std::string output;
  int workers = 0;
  std::string device = "auto";
  bool resume = false;
  int port = 0;
};

absl::StatusOr<std::vector<std::string>> Devices(const WorkerProgram& worker,
                                                 const std::string& wanted, int workers) {
  if (wanted == "cpu") return ChooseDevices(wanted, {"cpu"}, workers);
  const auto found = worker.Devices();
  if (!found.ok()) return found.status();
  return ChooseDevices(wanted, *found, workers);
}

int Fail(const absl::Status& status) {
  PrintError(status);
  return kBadInput;
}

/// Everything that can be wrong is found before the first file is written.
int Run(const RunOptions& options) {
  std::vector<std::string> sets = options.manifest.sets;
  if (options.workers > 0) sets.push_back(absl::StrCat("worker.count=", options.workers));
  auto job = ReadJob(options.manifest.path, sets);
  if (!job) return kBadInput;

  const auto worker = WorkerProgram::Find();
  if (!worker.ok()) return Fail(worker.status());
  const auto description = worker->Describe(job->spec());
  if (!description.ok()) return Fail(description.status());
  if (!CheckFaults(options.manifest.path, *description)) return kBadInput;
  const auto devices = Devices(*worker, options.device, job->spec().worker().count());
  if (!devices.ok()) return Fail(devices.status());

  const std::string name = JobName(*job, options.manifest.path);
  OutputDirectory output(options.output.empty() ? "freezepipe-output/" + name : options.output);
  if (const absl::Status usable = output.Check(options.resume); !usable.ok()) return Fail(usable);

  RunPlan plan = {name, *job, *description, *worker, *devices, std::nullopt};
  if (options.resume) {
    auto resume = FindResumePoint(output, job->spec(), *worker);
    if (!resume.ok()) return Fail(resume.status());
    if (resume->complete) {
      std::cout << "the run in " << output.path() << " is already complete: nothing to resume\n";
      return kDone;
    }
    for (const std::string& damage : resume->damaged) {
      PrintWarning(absl::StrCat("damaged checkpoint left out: ", damage,
                                "; going on from the one of step ", resume->checkpoint.step));
    }
    plan.resume = *std::move(resume);
  }
  LocalRun run(std::move(plan), &output);
  if (const absl::Status ready = run.Prepare(options.port); !ready.ok()) return Fail(ready);
  return run.Run();
}

}  // namespace

void AddRunCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("run", "Train a job on this machine");
  auto options = std::make_shared<RunOptions>();
  AddManifestOptions(command, &options->manifest);
  command
      ->add_option(
          "--output", options->output,
          "Folder for everything the run writes (default: freezepipe-output/NAME, NAME being the "
          "manifest's metadata.name)")
      ->type_name("DIR");
  command
      ->add_option("--workers", options->workers,
                   "Workers to start: short for --set worker.count=N")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--device", options->device,
                   "cpu, cuda or auto: CUDA where there is one for each worker (default: auto)")
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}));
  command->add_flag(
      "--resume", options->resume,
      "Go on from the newest checkpoint in the output folder; workers, stages and the "
      "freeze policy may be other ones");
  command
      ->add_option("--port", options->port,
                   "Port of 127.0.0.1 that the workers connect to (default: any free one)")
      ->type_name("PORT")
      ->check(CLI::Range(1, 65535));
  command->footer(
      "Relative paths in the manifest (dataset.path, initialWeights.path) start at the current "
      "folder.\n"
      "Ctrl-C stops after the step under way and writes a checkpoint; a second one stops at once, "
      "without.\n\n"
      "Files in the output folder:\n"
      "  manifest.yaml      the job as it was run, defaults filled in\n"
      "  summary.json       the whole run on one page\n"
      "  events.jsonl       what happened, one event a line\n"
      "  status.json        the job's durable record\n"
      "  model.safetensors  the final weights\n"
      "  checkpoints/       what --resume goes on from\n"
      "  logs/              what each worker printed\n\n"
      "Examples:\n"
      "  freezepipe run examples/fashion-mnist.yaml\n"
      "  freezepipe run examples/fashion-mnist.yaml --output /tmp/two --workers 2 --set "
      "training.epochs=2\n"
      "  freezepipe run examples/fashion-mnist.yaml --output /tmp/two --workers 1 --set "
      "training.epochs=2 "
      "--resume\n\n"
      "Exit status: 0 done; 1 the job failed; 2 nothing started (bad manifest, data, options or "
      "set-up);\n"
      "130 stopped by Ctrl-C.");
  command->callback([=] { *exit_code = Run(*options); });
}

}  // namespace freezepipe::cli
