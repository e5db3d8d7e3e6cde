#pragma once

#include <optional>
#include <string>

#include "operator/kube/object.h"
#include "operator/kube/time.h"

namespace freezepipe::cluster {

struct PodEnd {
  /// Every container exited with status 0.
  bool clean = false;
  /// Not the program's fault: evicted, preempted, its node shut down.
  bool disrupted = false;
  /// In words: "exited with status 137 (OOMKilled)".
  std::string why;
};

/// How a pod ended; nothing while it may still run.
std::optional<PodEnd> EndOf(const kube::Json& pod);

/// When the pod has to be gone at the latest, if it is being deleted: its node has had its grace
/// period, and some time to say so.
std::optional<kube::WallTime> DueToBeGone(const kube::Json& pod);

/// It is being deleted and its node hasn't said that it is gone when it was due: the node is lost.
bool IsLostWithItsNode(const kube::Json& pod, kube::WallTime now);

}  // namespace freezepipe::cluster
