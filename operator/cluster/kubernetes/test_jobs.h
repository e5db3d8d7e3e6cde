#pragma once

#include <string>

#include "operator/kube/object.h"

namespace freezepipe::cluster {

/// A job for tests, as the API server would have it.
inline kube::Json TestJob(kube::Json pod_template = kube::Json::object()) {
  return {{"apiVersion", "freezepipe.io/v1alpha1"},
          {"kind", "FreezePipeJob"},
          {"metadata",
           {{"namespace", "train"}, {"name", "fashion"}, {"uid", "3f2a9c1d-0000-0000-0000-1"}}},
          {"spec", {{"worker", {{"count", 2}, {"threads", 3}, {"template", pod_template}}}}}};
}

}  // namespace freezepipe::cluster
