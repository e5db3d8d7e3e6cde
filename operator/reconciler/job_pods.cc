#include "operator/reconciler/job_pods.h"

#include <absl/strings/str_cat.h>

#include "operator/cluster/kubernetes/pod_end.h"

namespace freezepipe::reconciler {
namespace {

using kube::Json;
using Pointer = Json::json_pointer;

/// What a container waits for in an ordinary start.
bool IsOrdinary(const std::string& reason) {
  return reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing";
}

std::string WhyNotScheduled(const Json& pod) {
  for (const Json& condition : pod.value(Pointer("/status/conditions"), Json(Json::array()))) {
    if (condition.value("type", "") != "PodScheduled" || condition.value("status", "") != "False") {
      continue;
    }
    return absl::StrCat(condition.value("reason", "Unschedulable"), ": pod ", kube::KeyOf(pod).name,
                        ": ", condition.value("message", ""));
  }
  return "";
}

std::string WhyNotStarted(const Json& pod) {
  for (const char* list : {"/status/initContainerStatuses", "/status/containerStatuses"}) {
    for (const Json& container : pod.value(Pointer(list), Json(Json::array()))) {
      const Json waiting = container.value(Pointer("/state/waiting"), Json(Json::object()));
      const std::string reason = waiting.value("reason", "");
      if (IsOrdinary(reason)) continue;
      return absl::StrCat(reason, ": pod ", kube::KeyOf(pod).name, ": ",
                          waiting.value("message", ""));
    }
  }
  return "";
}

}  // namespace

bool HasEnded(const Json& pod, kube::WallTime now) {
  return cluster::EndOf(pod).has_value() || cluster::IsLostWithItsNode(pod, now);
}

std::vector<kube::Object> Living(const std::vector<kube::Object>& pods, kube::WallTime now) {
  std::vector<kube::Object> living;
  for (const auto& pod : pods) {
    if (!HasEnded(*pod, now)) living.push_back(pod);
  }
  return living;
}

bool HoldsDevices(const Json& pod) {
  return !kube::TextAt(pod, Pointer("/spec/nodeName")).empty() && !cluster::EndOf(pod);
}

bool IsReady(const Json& pod) {
  for (const Json& condition : pod.value(Pointer("/status/conditions"), Json(Json::array()))) {
    if (condition.value("type", "") == "Ready") return condition.value("status", "") == "True";
  }
  return false;
}

std::string WhatStillStarts(const std::vector<kube::Object>& pods) {
  for (const auto& pod : pods) {
    if (kube::TextAt(*pod, Pointer("/status/phase")) != "Pending") continue;
    for (const Json& container :
         pod->value(Pointer("/status/initContainerStatuses"), Json(Json::array()))) {
      if (!container.contains(Pointer("/state/running"))) continue;
      return absl::StrCat("pod ", kube::KeyOf(*pod).name, " is still in its init container ",
                          container.value("name", ""));
    }
    return absl::StrCat("pod ", kube::KeyOf(*pod).name, " has not started yet");
  }
  return "";
}

std::string WhyNotRunning(const std::vector<kube::Object>& pods) {
  for (const auto& pod : pods) {
    if (kube::TextAt(*pod, Pointer("/status/phase")) != "Pending") continue;
    if (std::string why = WhyNotScheduled(*pod); !why.empty()) return why;
    if (std::string why = WhyNotStarted(*pod); !why.empty()) return why;
  }
  return "";
}

}  // namespace freezepipe::reconciler
