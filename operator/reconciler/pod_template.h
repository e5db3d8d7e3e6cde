#pragma once

#include <string>
#include <vector>

#include "operator/kube/object.h"

namespace freezepipe::reconciler {

/// What a job's worker.template has that isn't the template's to say, or isn't what a pod has
/// there: "spec.worker.template.spec.restartPolicy: ...". The API server's own check comes after
/// this.
std::vector<std::string> FaultsOfTemplate(const kube::Json& job);

}  // namespace freezepipe::reconciler
