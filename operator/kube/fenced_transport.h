#pragma once

#include <functional>
#include <memory>

#include "operator/kube/transport.h"

namespace freezepipe::kube {

/// Lets nothing but reading through while `may_write` says no (kCancelled): a leader that was
/// deposed without noticing, paused for longer than its lease, changes nothing any more.
class FencedTransport : public Transport {
 public:
  FencedTransport(std::shared_ptr<Transport> transport, std::function<bool()> may_write);

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request, std::stop_token stop) override;
  absl::StatusOr<HttpResponse> Stream(
      const HttpRequest& request, std::stop_token stop,
      absl::FunctionRef<void(std::string_view line)> on_line) override;

 private:
  const std::shared_ptr<Transport> transport_;
  const std::function<bool()> may_write_;
};

}  // namespace freezepipe::kube
