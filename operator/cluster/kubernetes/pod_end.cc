#include "operator/cluster/kubernetes/pod_end.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/util/time_util.h>

#include <utility>

namespace freezepipe::cluster {
namespace {

using kube::Json;
using Pointer = Json::json_pointer;

/// Beyond its grace period a node gets so long to say that a pod is gone.
constexpr std::chrono::seconds kDeletionSlack{10};

/// The API server, the scheduler or the kubelet ended it for reasons of their own.
bool IsDisrupted(const Json& pod) {
  for (const Json& condition : pod.value(Pointer("/status/conditions"), Json(Json::array()))) {
    if (condition.value("type", "") == "DisruptionTarget") {
      return condition.value("status", "") == "True";
    }
  }
  // What the kubelet says of pods that it ended, with whatever exit status.
  const std::string reason = kube::TextAt(pod, Pointer("/status/reason"));
  return reason == "Evicted" || reason == "Preempting" || reason == "Terminated" ||
         reason == "NodeShutdown" || reason == "NodeAffinity" || reason == "NodeLost" ||
         kube::IsBeingDeleted(pod);
}

/// How a container ended that failed: "exited with status 137 (OOMKilled)"; empty if it didn't.
std::string WhyFailed(const Json& container, const std::string& kind) {
  const Json ended = container.value(Pointer("/state/terminated"), Json(Json::object()));
  const int code = ended.value("exitCode", 0);
  if (code == 0) return "";
  const std::string word = ended.value("reason", "");
  const std::string named = word.empty() || word == "Error" ? "" : absl::StrCat(" (", word, ")");
  const std::string who = kind.empty() ? "" : absl::StrCat(kind, container.value("name", ""), " ");
  return absl::StrCat(who, "exited with status ", code, named);
}

/// "Evicted: the node was low on memory", or what the first container that failed says.
std::string WhyFailed(const Json& pod) {
  const std::string reason = kube::TextAt(pod, Pointer("/status/reason"));
  const std::string message = kube::TextAt(pod, Pointer("/status/message"));
  if (!reason.empty()) return message.empty() ? reason : absl::StrCat(reason, ": ", message);
  for (const auto& [list, kind] : {std::pair("/status/initContainerStatuses", "init container "),
                                   std::pair("/status/containerStatuses", "")}) {
    for (const Json& container : pod.value(Pointer(list), Json(Json::array()))) {
      const std::string why = WhyFailed(container, kind);
      if (!why.empty()) return why;
    }
  }
  return message.empty() ? "failed" : message;
}

}  // namespace

std::optional<PodEnd> EndOf(const Json& pod) {
  const std::string phase = kube::TextAt(pod, Pointer("/status/phase"));
  if (phase == "Succeeded") return PodEnd{.clean = true, .why = "exited with status 0"};
  if (phase != "Failed") return std::nullopt;
  return PodEnd{.clean = false, .disrupted = IsDisrupted(pod), .why = WhyFailed(pod)};
}

std::optional<kube::WallTime> DueToBeGone(const Json& pod) {
  // The API server adds the grace period to the time of the request.
  google::protobuf::Timestamp deletion;
  if (!google::protobuf::util::TimeUtil::FromString(
          kube::TextAt(pod, Pointer("/metadata/deletionTimestamp")), &deletion)) {
    return std::nullopt;
  }
  return kube::WallTime(std::chrono::seconds(deletion.seconds())) + kDeletionSlack;
}

bool IsLostWithItsNode(const Json& pod, kube::WallTime now) {
  const auto due = DueToBeGone(pod);
  return due && now > *due;
}

}  // namespace freezepipe::cluster
