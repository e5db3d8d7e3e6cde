#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include <cstdlib>

#include "operator/kube/cluster_config.h"
#include "operator/kube/read_file.h"

namespace freezepipe::kube {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

PodEnvironment PodEnvironment::FromProcess() {
  PodEnvironment pod;
  pod.host = Environment("KUBERNETES_SERVICE_HOST");
  pod.port = Environment("KUBERNETES_SERVICE_PORT");
  return pod;
}

absl::StatusOr<ClusterConfig> InClusterConfig(const PodEnvironment& pod) {
  if (pod.host.empty() || pod.port.empty()) {
    return absl::FailedPreconditionError(
        "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT aren't set");
  }
  const auto file = [&](const char* name) {
    return absl::StrCat(pod.service_account_folder, "/", name);
  };
  const auto ca = ReadFile(file("ca.crt"));
  if (!ca.ok()) return ca.status();
  const auto ns = ReadFile(file("namespace"));
  if (!ns.ok()) return ns.status();
  auto token = TokenSource::File(file("token"));
  if (const auto first = token->Get(SteadyClock::now()); !first.ok()) return first.status();

  const bool ipv6 = pod.host.find(':') != std::string::npos;
  ClusterConfig config;
  config.server =
      absl::StrCat("https://", ipv6 ? absl::StrCat("[", pod.host, "]") : pod.host, ":", pod.port);
  config.ca_pem = *ca;
  config.token = std::move(token);
  config.ns = std::string(absl::StripAsciiWhitespace(*ns));
  return config;
}

}  // namespace freezepipe::kube
