#include "operator/reconciler/clean_pods.h"

#include "operator/cluster/kubernetes/pod_end.h"

namespace freezepipe::reconciler {
namespace {

using v1alpha1::CleanPodPolicy;

bool IsToGo(const kube::Json& pod, const Snapshot& snapshot) {
  if (snapshot.status.state() == v1alpha1::JobState::Suspended) return !cluster::EndOf(pod);
  switch (snapshot.spec.run_policy().clean_pod_policy()) {
    case CleanPodPolicy::All:
      return true;
    case CleanPodPolicy::Running:
      return !cluster::EndOf(pod);
    default:
      return false;
  }
}

}  // namespace

std::vector<kube::Object> PodsToClean(const Snapshot& snapshot) {
  std::vector<kube::Object> pods;
  for (const auto& pod : snapshot.pods) {
    if (!kube::IsBeingDeleted(*pod) && IsToGo(*pod, snapshot)) pods.push_back(pod);
  }
  return pods;
}

}  // namespace freezepipe::reconciler
