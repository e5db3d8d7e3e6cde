#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "operator/kube/token_source.h"

namespace freezepipe::kube {

/// How to reach an API server, and as whom.
struct ClusterConfig {
  /// "https://10.0.0.1:443", with the path of a proxy behind it if there is one.
  std::string server;
  /// The only authorities that are trusted; empty: those of the system.
  std::string ca_pem;
  /// Both or neither.
  std::string client_certificate_pem;
  std::string client_key_pem;
  /// Null: none is sent.
  std::shared_ptr<TokenSource> token;
  /// The namespace that this program runs in, or that the context names.
  std::string ns = "default";
};

/// Where a pod finds its API server and its service account.
struct PodEnvironment {
  std::string host;
  std::string port;
  std::string service_account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";

  /// KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.
  static PodEnvironment FromProcess();
};

/// kFailedPrecondition when this isn't a pod; other errors name the file.
absl::StatusOr<ClusterConfig> InClusterConfig(const PodEnvironment& pod);

/// The current context of a kubeconfig file. Certificates, keys and tokens, in the file or beside
/// it; what would need a program, a password, or trust without proof is refused by name.
absl::StatusOr<ClusterConfig> ReadKubeconfig(const std::string& path);

}  // namespace freezepipe::kube
