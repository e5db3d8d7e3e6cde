#include "operator/kube/observed_transport.h"

#include <utility>

namespace freezepipe::kube {
namespace {

int CodeOf(const absl::StatusOr<HttpResponse>& response) {
  return response.ok() ? response->code : 0;
}

}  // namespace

ObservedTransport::ObservedTransport(std::shared_ptr<Transport> transport, Observer observer)
    : transport_(std::move(transport)), observer_(std::move(observer)) {}

absl::StatusOr<HttpResponse> ObservedTransport::Send(const HttpRequest& request,
                                                     std::stop_token stop) {
  const TimePoint begun = SteadyClock::now();
  auto response = transport_->Send(request, std::move(stop));
  observer_(request.method, CodeOf(response), SteadyClock::now() - begun);
  return response;
}

absl::StatusOr<HttpResponse> ObservedTransport::Stream(
    const HttpRequest& request, std::stop_token stop,
    absl::FunctionRef<void(std::string_view line)> on_line) {
  const TimePoint begun = SteadyClock::now();
  auto response = transport_->Stream(request, std::move(stop), on_line);
  observer_(request.method, CodeOf(response), SteadyClock::now() - begun);
  return response;
}

}  // namespace freezepipe::kube
