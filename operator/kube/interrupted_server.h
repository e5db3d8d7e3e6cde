#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "operator/kube/transport.h"

namespace freezepipe::kube {

/// For tests: an API server before which the test may step in. Thread-safe.
class InterruptedServer : public Transport {
 public:
  /// What is called with each request; its answer, if there is one, is the server's. It may send
  /// requests of its own to the server behind.
  using Hook = std::function<std::optional<HttpResponse>(const HttpRequest& request)>;

  explicit InterruptedServer(std::shared_ptr<Transport> server, Hook hook = {})
      : server_(std::move(server)), hook_(std::move(hook)) {}

  void Set(Hook hook) {
    std::lock_guard lock(mutex_);
    hook_ = std::move(hook);
  }

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request, std::stop_token stop) override {
    Hook hook;
    {
      std::lock_guard lock(mutex_);
      hook = hook_;
    }
    if (hook) {
      if (auto answer = hook(request)) return *std::move(answer);
    }
    return server_->Send(request, stop);
  }

  absl::StatusOr<HttpResponse> Stream(
      const HttpRequest& request, std::stop_token stop,
      absl::FunctionRef<void(std::string_view line)> on_line) override {
    return server_->Stream(request, stop, on_line);
  }

 private:
  const std::shared_ptr<Transport> server_;
  /// Guards hook_.
  std::mutex mutex_;
  Hook hook_;
};

}  // namespace freezepipe::kube
