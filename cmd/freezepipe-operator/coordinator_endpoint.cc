#include "cmd/freezepipe-operator/coordinator_endpoint.h"

#include <absl/strings/str_cat.h>

namespace freezepipe::operator_program {
namespace {

constexpr kube::Resource kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices"};
/// Of the Service's port.
constexpr char kPortName[] = "coordinator";

}  // namespace

absl::Status PointServiceAt(kube::Client& client, const kube::ObjectKey& service,
                            const std::string& pod_ip, int port) {
  const bool six = pod_ip.find(':') != std::string::npos;
  const kube::Json slice = {
      {"apiVersion", kube::ApiVersion(kEndpointSlices)},
      {"kind", "EndpointSlice"},
      {"metadata",
       {{"namespace", service.ns},
        // An address type can't change.
        {"name", absl::StrCat(service.name, six ? "-ipv6" : "-ipv4")},
        {"labels",
         {{"kubernetes.io/service-name", service.name},
          {"endpointslice.kubernetes.io/managed-by", "freezepipe.io-operator"}}}}},
      {"addressType", six ? "IPv6" : "IPv4"},
      {"endpoints", {{{"addresses", {pod_ip}}, {"conditions", {{"ready", true}}}}}},
      {"ports", {{{"name", kPortName}, {"port", port}, {"protocol", "TCP"}}}}};
  return client.Apply(kEndpointSlices, slice).status();
}

}  // namespace freezepipe::operator_program
