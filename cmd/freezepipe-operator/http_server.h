#pragma once

#include <functional>
#include <memory>
#include <string>

namespace freezepipe::operator_program {

/// GET /healthz and /readyz for the kubelet, /metrics for Prometheus, in plain HTTP.
class HttpServer {
 public:
  struct Answers {
    /// Empty: all is well; else why not. Called on several threads.
    std::function<std::string()> health;
    std::function<std::string()> readiness;
    /// Prometheus' text format.
    std::function<std::string()> metrics;
  };

  /// Throws std::runtime_error when the port is taken.
  HttpServer(int port, Answers answers);
  ~HttpServer();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace freezepipe::operator_program
