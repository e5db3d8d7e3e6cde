#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <array>
#include <filesystem>

#include "operator/kube/cluster_config.h"
#include "operator/kube/object.h"
#include "operator/kube/read_file.h"
#include "operator/manifest/yaml_reader.h"

namespace freezepipe::kube {
namespace {

using Pointer = Json::json_pointer;

constexpr std::array kUnsupported = {"exec", "auth-provider", "username",       "password",
                                     "as",   "proxy-url",     "tls-server-name"};

/// One kubeconfig while it is read; errors name the file.
class Kubeconfig {
 public:
  Kubeconfig(std::string path, Json json) : path_(std::move(path)), json_(std::move(json)) {}

  absl::Status Error(const std::string& words) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": ", words));
  }

  std::string CurrentContext() const { return TextAt(json_, Pointer("/current-context")); }

  /// The entry called `name` of a list such as clusters: what stands under `field` in it.
  absl::StatusOr<Json> Entry(const std::string& list, const std::string& name,
                             const std::string& field) const {
    if (json_.contains(list) && json_.at(list).is_array()) {
      for (const Json& entry : json_.at(list)) {
        if (TextAt(entry, Pointer("/name")) != name || !entry.contains(field)) continue;
        return entry.at(field);
      }
    }
    return Error(absl::StrCat("no ", field, " \"", name, "\" in ", list));
  }

  /// What stands under NAME-data in base 64, or in the file that NAME tells; empty if neither does.
  absl::StatusOr<std::string> Data(const Json& entry, const std::string& name) const {
    const std::string data = TextAt(entry, Pointer("/" + name + "-data"));
    if (!data.empty()) {
      std::string text;
      if (!absl::Base64Unescape(data, &text)) return Error(name + "-data isn't base 64");
      return text;
    }
    const std::string file = TextAt(entry, Pointer("/" + name));
    if (file.empty()) return std::string();
    return ReadFile(Beside(file));
  }

  /// Files are named from the folder of the kubeconfig.
  std::string Beside(const std::string& file) const {
    return (std::filesystem::path(path_).parent_path() / file).string();
  }

  absl::Status RefuseUnsupported(const Json& entry) const {
    if (entry.is_object() && entry.value("insecure-skip-tls-verify", false)) {
      return Error("insecure-skip-tls-verify: the API server has to prove who it is");
    }
    for (const char* field : kUnsupported) {
      if (entry.contains(field)) return Error(absl::StrCat(field, " isn't supported"));
    }
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const Json json_;
};

absl::Status ReadCluster(const Kubeconfig& file, const Json& cluster, ClusterConfig* config) {
  if (const auto status = file.RefuseUnsupported(cluster); !status.ok()) return status;
  config->server = TextAt(cluster, Pointer("/server"));
  if (config->server.empty()) return file.Error("the cluster has no server");
  auto ca = file.Data(cluster, "certificate-authority");
  if (!ca.ok()) return ca.status();
  config->ca_pem = *std::move(ca);
  return absl::OkStatus();
}

absl::Status ReadUser(const Kubeconfig& file, const Json& user, ClusterConfig* config) {
  if (const auto status = file.RefuseUnsupported(user); !status.ok()) return status;
  auto certificate = file.Data(user, "client-certificate");
  if (!certificate.ok()) return certificate.status();
  auto key = file.Data(user, "client-key");
  if (!key.ok()) return key.status();
  if (certificate->empty() != key->empty()) {
    return file.Error("a client certificate needs its key, and the other way round");
  }
  config->client_certificate_pem = *std::move(certificate);
  config->client_key_pem = *std::move(key);
  const std::string token = TextAt(user, Pointer("/token"));
  const std::string token_file = TextAt(user, Pointer("/tokenFile"));
  if (!token.empty()) {
    config->token = TokenSource::Fixed(token);
  } else if (!token_file.empty()) {
    config->token = TokenSource::File(file.Beside(token_file));
    if (const auto first = config->token->Get(SteadyClock::now()); !first.ok()) {
      return first.status();
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ClusterConfig> ReadKubeconfig(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text.ok()) return text.status();
  std::vector<ManifestFault> faults;
  Json json = ReadYaml(*text, "the kubeconfig", &faults);
  const Kubeconfig file(path, std::move(json));
  if (!faults.empty()) {
    return file.Error(
        absl::StrCat(faults[0].path, faults[0].path.empty() ? "" : ": ", faults[0].message));
  }
  const std::string name = file.CurrentContext();
  if (name.empty()) return file.Error("no current-context");
  const auto context = file.Entry("contexts", name, "context");
  if (!context.ok()) return context.status();
  const auto cluster = file.Entry("clusters", TextAt(*context, Pointer("/cluster")), "cluster");
  if (!cluster.ok()) return cluster.status();
  const auto user = file.Entry("users", TextAt(*context, Pointer("/user")), "user");
  if (!user.ok()) return user.status();

  ClusterConfig config;
  if (const auto status = ReadCluster(file, *cluster, &config); !status.ok()) return status;
  if (const auto status = ReadUser(file, *user, &config); !status.ok()) return status;
  const std::string ns = TextAt(*context, Pointer("/namespace"));
  if (!ns.empty()) config.ns = ns;
  return config;
}

}  // namespace freezepipe::kube
