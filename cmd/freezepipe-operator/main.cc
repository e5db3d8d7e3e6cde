#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

#include "cmd/freezepipe-operator/operator_program.h"

int main(int argc, char** argv) {
  freezepipe::operator_program::Options options;
  CLI::App app("FreezePipe operator: runs FreezePipeJobs on Kubernetes");
  app.add_option("--coordinator-address", options.coordinator_address,
                 "What workers dial, HOST:PORT")
      ->required();
  app.add_option("--coordinator-port", options.coordinator_port, "Port to listen on for workers")
      ->capture_default_str();
  app.add_option("--coordinator-service", options.coordinator_service,
                 "Service without a selector, in the operator's namespace, that the leader points "
                 "at itself");
  app.add_option("--ca-secret", options.ca_secret,
                 "Secret, in the operator's namespace, of the authority that workers trust; made "
                 "if there is none")
      ->capture_default_str();
  app.add_option("--certificates", options.certificates,
                 "Folder to write the coordinator's certificate to")
      ->capture_default_str();
  app.add_option("--http-port", options.http_port, "Port of /healthz, /readyz and /metrics")
      ->capture_default_str();
  app.add_option("--worker-image", options.worker_image,
                 "Image of workers whose template names none")
      ->required();
  app.add_option("--watch-namespaces", options.watch_namespaces,
                 "Namespaces to watch, separated by commas (default: all)")
      ->delimiter(',');
  app.add_option("--lease", options.lease, "Name of the Lease that the leader holds")
      ->capture_default_str();
  app.add_option("--requests-per-second", options.requests_per_second,
                 "Most requests to the API server")
      ->check(CLI::Range(1.0, 100'000.0))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Jobs reconciled at the same time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--kubeconfig", options.kubeconfig,
                 "Outside a cluster: how to reach its API server (default: the pod's service "
                 "account)");
  app.add_option("--pod-name", options.pod_name, "Name of this pod")->envname("POD_NAME");
  app.add_option("--pod-namespace", options.pod_namespace, "Namespace of this pod")
      ->envname("POD_NAMESPACE");
  app.add_option("--pod-ip", options.pod_ip, "Address of this pod")->envname("POD_IP");
  CLI11_PARSE(app, argc, argv);
  return freezepipe::operator_program::Run(options);
}
