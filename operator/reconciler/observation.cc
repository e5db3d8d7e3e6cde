#include "operator/reconciler/observation.h"

#include <map>

#include "operator/cluster/kubernetes/job_pod.h"
#include "operator/reconciler/job_pods.h"

namespace freezepipe::reconciler {
namespace {

using v1alpha1::JobState;

bool WantsWorkers(JobState::Type state) {
  return state != JobState::Succeeded && state != JobState::Failed && state != JobState::Stopped &&
         state != JobState::Suspended;
}

std::map<int, kube::Object> PodsByWorker(const Snapshot& snapshot) {
  std::map<int, kube::Object> pods;
  for (const auto& pod : snapshot.pods) {
    const int worker = cluster::WorkerOf(*pod);
    if (worker < 0) continue;
    auto& newest = pods[worker];
    if (!newest || cluster::AttemptOf(*pod) > cluster::AttemptOf(*newest)) newest = pod;
  }
  return pods;
}

}  // namespace

void Observe(const Snapshot& snapshot, v1alpha1::FreezePipeJobStatus* status) {
  const auto pods = PodsByWorker(snapshot);
  int ready = 0;
  for (const auto& [worker, pod] : pods) {
    if (IsReady(*pod) && !HasEnded(*pod, snapshot.now)) ++ready;
  }
  status->set_ready_workers(ready);
  status->set_desired_workers(WantsWorkers(status->state())
                                  ? snapshot.spec.worker().count() - status->released_workers_size()
                                  : 0);
  for (auto& stage : *status->mutable_stages()) {
    stage.clear_pods();
    stage.clear_nodes();
    for (const int worker : stage.workers()) {
      const auto pod = pods.find(worker);
      const bool known = pod != pods.end();
      stage.add_pods(known ? kube::KeyOf(*pod->second).name : "");
      stage.add_nodes(known ? kube::TextAt(*pod->second, kube::Json::json_pointer("/spec/nodeName"))
                            : "");
    }
  }
  const bool waits = status->state() == JobState::Pending || status->state() == JobState::Starting;
  const std::string why = waits ? WhyNotRunning(snapshot.pods) : "";
  if (!why.empty()) status->set_message(why);
}

}  // namespace freezepipe::reconciler
