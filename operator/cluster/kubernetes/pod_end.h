#pragma once

#include <optional>
#include <string>

#include "operator/kube/object.h"

namespace freezepipe::cluster {

struct PodEnd {
  /// Every container exited with status 0.
  bool clean = false;
  /// In words: "exited with status 137 (OOMKilled)".
  std::string why;
};

/// How a pod ended; nothing while it may still run.
std::optional<PodEnd> EndOf(const kube::Json& pod);

}  // namespace freezepipe::cluster
