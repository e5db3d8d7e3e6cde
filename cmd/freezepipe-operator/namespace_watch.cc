#include "cmd/freezepipe-operator/namespace_watch.h"

#include <algorithm>

#include "operator/cluster/kubernetes/job_pod.h"
#include "operator/cluster/kubernetes/labels.h"
#include "operator/reconciler/status_store.h"

namespace freezepipe::operator_program {

NamespaceWatch::NamespaceWatch(kube::Client& client, const std::string& ns,
                               kube::Reflector::ErrorHandler on_error) {
  jobs_.AddHandler([this](const kube::Change& change) {
    if (leads_) reconciler_->OnJobChange(change);
  });
  pods_.AddHandler([this](const kube::Change& change) {
    if (leads_) reconciler_->OnPodChange(change);
  });
  const kube::Selection all_jobs = {.ns = ns};
  const kube::Selection pods_of_jobs = {.ns = ns, .labels = cluster::kJobUidLabel};
  job_reflector_.emplace(client, reconciler::kJobs, all_jobs, jobs_, on_error);
  pod_reflector_.emplace(client, cluster::kPods, pods_of_jobs, pods_, on_error);
}

bool NamespaceWatch::WaitUntilSynced(const std::stop_token& stop) const {
  return jobs_.WaitUntilSynced(stop) && pods_.WaitUntilSynced(stop);
}

void NamespaceWatch::Stop() {
  job_reflector_.reset();
  pod_reflector_.reset();
  reconciler_.reset();
}

kube::Object NamespaceWatch::FindPod(const std::string& uid) const {
  const auto pods = pods_.Find(reconciler::kPodsByUid, uid);
  return pods.empty() ? nullptr : pods.front();
}

int NamespaceWatch::HighestTerm() const {
  int highest = 0;
  for (const auto& job : jobs_.List()) {
    highest = std::max(highest, job->value(kube::Json::json_pointer("/status/term"), 0));
  }
  return highest;
}

void NamespaceWatch::Lead(const reconciler::Surroundings& surroundings) {
  reconciler_.emplace(surroundings, jobs_, pods_);
  leads_ = true;
  for (const auto& job : jobs_.List()) {
    surroundings.look_at(kube::KeyOf(*job), kube::Duration::zero());
  }
}

}  // namespace freezepipe::operator_program
