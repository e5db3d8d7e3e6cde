#include "operator/cluster/kubernetes/pod_end.h"

#include <absl/strings/str_cat.h>

namespace freezepipe::cluster {
namespace {

using kube::Json;
using Pointer = Json::json_pointer;

/// "Evicted: the node was low on memory", or what the first container that failed says.
std::string WhyFailed(const Json& pod) {
  const std::string reason = kube::TextAt(pod, Pointer("/status/reason"));
  const std::string message = kube::TextAt(pod, Pointer("/status/message"));
  if (!reason.empty()) return message.empty() ? reason : absl::StrCat(reason, ": ", message);
  const Json containers = pod.value(Pointer("/status/containerStatuses"), Json(Json::array()));
  for (const Json& container : containers) {
    const Json ended = container.value(Pointer("/state/terminated"), Json(Json::object()));
    const int code = ended.value("exitCode", 0);
    if (code == 0) continue;
    const std::string word = ended.value("reason", "");
    const std::string named = word.empty() || word == "Error" ? "" : absl::StrCat(" (", word, ")");
    return absl::StrCat("exited with status ", code, named);
  }
  return message.empty() ? "failed" : message;
}

}  // namespace

std::optional<PodEnd> EndOf(const Json& pod) {
  const std::string phase = kube::TextAt(pod, Pointer("/status/phase"));
  if (phase == "Succeeded") return PodEnd{.clean = true, .why = "exited with status 0"};
  if (phase == "Failed") return PodEnd{.clean = false, .why = WhyFailed(pod)};
  return std::nullopt;
}

}  // namespace freezepipe::cluster
