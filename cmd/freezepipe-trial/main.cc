#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "cmd/freezepipe-trial/trial.h"
#include "operator/kube/cluster_config.h"
#include "operator/kube/http_transport.h"

namespace freezepipe::trial {
namespace {

absl::Status Run(const std::string& file, const Options& options) {
  std::ifstream input(file);
  const kube::Json job = kube::Json::parse(input, nullptr, /*allow_exceptions=*/false);
  if (!job.is_object()) return absl::InvalidArgumentError(file + " is not a JSON object");
  auto config = kube::InClusterConfig(kube::PodEnvironment::FromProcess());
  if (!config.ok()) return config.status();
  auto transport = kube::HttpTransport::Create(*std::move(config));
  if (!transport.ok()) return transport.status();
  kube::Client client(std::shared_ptr<kube::Transport>(*std::move(transport)),
                      {.field_manager = "freezepipe-trial"});
  return Try(client, job, options, [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  });
}

}  // namespace
}  // namespace freezepipe::trial

int main(int argc, char** argv) {
  std::string file;
  int seconds = 300;
  CLI::App app(
      "FreezePipe trial: runs one job in the cluster that this pod is in, and waits for it");
  app.add_option("job", file, "The FreezePipeJob, as JSON")->required()->check(CLI::ExistingFile);
  app.add_option("--timeout", seconds, "Seconds that the job may take")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status =
      freezepipe::trial::Run(file, {.limit = std::chrono::seconds(seconds)});
  if (status.ok()) {
    std::printf("the job ran to its end\n");
    return EXIT_SUCCESS;
  }
  std::fprintf(stderr, "the job did not succeed: %s\n", std::string(status.message()).c_str());
  return EXIT_FAILURE;
}
