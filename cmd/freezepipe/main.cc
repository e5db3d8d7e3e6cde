#include <signal.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>

#include "cmd/freezepipe/describe_command.h"
#include "cmd/freezepipe/exit_code.h"
#include "cmd/freezepipe/plan_command.h"
#include "cmd/freezepipe/run_command.h"
#include "cmd/freezepipe/validate_command.h"

int main(int argc, char** argv) {
  namespace cli = freezepipe::cli;
  // A reader of our output that goes away must not end a job.
  signal(SIGPIPE, SIG_IGN);

  CLI::App app("Trains neural networks in a pipeline that gives devices back while layers freeze.",
               "freezepipe");
  app.set_version_flag("--version", "freezepipe " FREEZEPIPE_VERSION);
  // None is told below: CLI11 would say that one is required to who mistyped one.
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  app.footer(
      "Examples:\n"
      "  freezepipe run examples/fashion-mnist.yaml\n"
      "  freezepipe run examples/cifar10-resnet.yaml --workers 2 --set training.epochs=5\n"
      "  freezepipe plan examples/fashion-mnist.yaml --boundary 0 3 6\n\n"
      "Exit status: 0 done; 1 the job failed; 2 nothing started (bad manifest, data, options or "
      "set-up);\n"
      "130 stopped by Ctrl-C.");

  int exit_code = cli::kDone;
  cli::AddRunCommand(&app, &exit_code);
  cli::AddValidateCommand(&app, &exit_code);
  cli::AddPlanCommand(&app, &exit_code);
  cli::AddDescribeCommand(&app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cli::kDone : cli::kBadInput;
  }
  if (app.get_subcommands().empty()) {
    std::cerr << app.help();
    return cli::kBadInput;
  }
  return exit_code;
}
