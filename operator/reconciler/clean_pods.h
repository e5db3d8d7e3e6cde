#pragma once

#include <vector>

#include "operator/reconciler/snapshot.h"

namespace freezepipe::reconciler {

/// runPolicy.cleanPodPolicy: the pods of a job at its end that are to be deleted. Those that a
/// suspended job leaves behind are always.
std::vector<kube::Object> PodsToClean(const Snapshot& snapshot);

}  // namespace freezepipe::reconciler
