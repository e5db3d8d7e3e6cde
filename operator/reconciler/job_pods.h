#pragma once

#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "operator/kube/time.h"

namespace freezepipe::reconciler {

/// Nothing of the pod runs any more: it succeeded, failed, or its node hasn't carried out its
/// deletion in time, so that it is lost with its node.
bool HasEnded(const kube::Json& pod, kube::WallTime now);

/// Those that may still run.
std::vector<kube::Object> Living(const std::vector<kube::Object>& pods, kube::WallTime now);

/// Bound to a node: it holds its devices.
bool HoldsDevices(const kube::Json& pod);

bool IsReady(const kube::Json& pod);

/// Why the first pod that doesn't run yet doesn't, in the scheduler's or the kubelet's words:
/// "Unschedulable: pod fashion-2-0-3f2a9c1d: 0/2 nodes are available: 2 Insufficient
/// nvidia.com/gpu."; empty if all run or nothing is said.
std::string WhyNotRunning(const std::vector<kube::Object>& pods);

/// The first pod that doesn't run yet, and how far it is; empty if all run.
std::string WhatStillStarts(const std::vector<kube::Object>& pods);

}  // namespace freezepipe::reconciler
