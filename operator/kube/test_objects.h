#pragma once

#include <string>

#include "operator/kube/object.h"
#include "operator/kube/resource.h"

namespace freezepipe::kube {

inline constexpr Resource kPods{"", "v1", "pods"};

/// A pod for tests.
inline Json Pod(const std::string& name, const std::string& version = "",
                const std::string& uid = "") {
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"namespace", "train"}, {"name", name}}}};
  if (!version.empty()) pod["metadata"]["resourceVersion"] = version;
  if (!uid.empty()) pod["metadata"]["uid"] = uid;
  return pod;
}

}  // namespace freezepipe::kube
