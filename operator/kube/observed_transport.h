#pragma once

#include <functional>
#include <memory>

#include "operator/kube/transport.h"

namespace freezepipe::kube {

/// Tells of every request that was answered or failed; of watches, when they end.
class ObservedTransport : public Transport {
 public:
  /// On the caller's thread. `code`: HTTP's, or 0 when there was no answer.
  using Observer = std::function<void(Method method, int code, Duration took)>;

  ObservedTransport(std::shared_ptr<Transport> transport, Observer observer);

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request, std::stop_token stop) override;
  absl::StatusOr<HttpResponse> Stream(
      const HttpRequest& request, std::stop_token stop,
      absl::FunctionRef<void(std::string_view line)> on_line) override;

 private:
  const std::shared_ptr<Transport> transport_;
  const Observer observer_;
};

}  // namespace freezepipe::kube
