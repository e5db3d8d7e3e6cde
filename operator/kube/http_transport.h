#pragma once

#include <memory>

#include "operator/kube/cluster_config.h"
#include "operator/kube/transport.h"

namespace freezepipe::kube {

/// HTTP/1.1 on cpprestsdk, connections kept and shared. The server's certificate has to lead to the
/// configured authority and name the server; redirects aren't followed. A token that the server
/// refuses (401) is read anew and, if it is another one, sent once more.
class HttpTransport : public Transport {
 public:
  /// kInvalidArgument: no such address, certificate or key.
  static absl::StatusOr<std::unique_ptr<HttpTransport>> Create(ClusterConfig config);
  ~HttpTransport() override;

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request, std::stop_token stop) override;
  absl::StatusOr<HttpResponse> Stream(
      const HttpRequest& request, std::stop_token stop,
      absl::FunctionRef<void(std::string_view line)> on_line) override;

 private:
  class Connection;

  HttpTransport(std::unique_ptr<Connection> connection, std::shared_ptr<TokenSource> token);

  /// `send` is given the token, empty for none.
  absl::StatusOr<HttpResponse> WithToken(
      absl::FunctionRef<absl::StatusOr<HttpResponse>(const std::string&)> send);

  const std::unique_ptr<Connection> connection_;
  const std::shared_ptr<TokenSource> token_;
};

}  // namespace freezepipe::kube
