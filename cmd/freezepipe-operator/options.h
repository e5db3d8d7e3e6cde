#pragma once

#include <string>
#include <vector>

namespace freezepipe::operator_program {

/// What the operator is told on its command line, and by its pod's environment.
struct Options {
  /// Not in a cluster: the kubeconfig to use instead of the pod's service account.
  std::string kubeconfig;
  /// What workers dial, HOST:PORT.
  std::string coordinator_address;
  int coordinator_port = 7070;
  /// The Service without a selector that leads workers to the leader; empty: it is none of ours.
  std::string coordinator_service;
  /// Secret of the authority that signs the coordinator's certificates.
  std::string ca_secret = "freezepipe-ca";
  /// Folder for the certificate in use.
  std::string certificates = "/tmp";
  int http_port = 8080;
  /// Of workers whose template names none.
  std::string worker_image;
  /// Empty: all.
  std::vector<std::string> watch_namespaces;
  std::string lease = "freezepipe-operator";
  double requests_per_second = 500;
  /// Jobs that are reconciled at the same time.
  int threads = 8;

  // Of this pod: POD_NAME, POD_NAMESPACE, POD_IP.
  std::string pod_name;
  std::string pod_namespace;
  std::string pod_ip;
};

}  // namespace freezepipe::operator_program
