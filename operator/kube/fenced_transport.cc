#include "operator/kube/fenced_transport.h"

#include <utility>

namespace freezepipe::kube {

FencedTransport::FencedTransport(std::shared_ptr<Transport> transport,
                                 std::function<bool()> may_write)
    : transport_(std::move(transport)), may_write_(std::move(may_write)) {}

absl::StatusOr<HttpResponse> FencedTransport::Send(const HttpRequest& request,
                                                   std::stop_token stop) {
  if (request.method != Method::kGet && !may_write_()) {
    return absl::CancelledError("this replica doesn't lead: it writes nothing");
  }
  return transport_->Send(request, std::move(stop));
}

absl::StatusOr<HttpResponse> FencedTransport::Stream(
    const HttpRequest& request, std::stop_token stop,
    absl::FunctionRef<void(std::string_view line)> on_line) {
  return transport_->Stream(request, std::move(stop), on_line);
}

}  // namespace freezepipe::kube
