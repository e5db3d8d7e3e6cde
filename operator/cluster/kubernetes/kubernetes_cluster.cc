#include "operator/cluster/kubernetes/kubernetes_cluster.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <utility>

#include "operator/cluster/kubernetes/pod_end.h"
#include "operator/kube/api_error.h"

namespace freezepipe::cluster {
namespace {

/// A worker is killed when it has had its chance to leave, seconds.
constexpr int kKillGracePeriod = 1;

}  // namespace

KubernetesCluster::KubernetesCluster(kube::Client& client, kube::Object job, PodOptions options,
                                     ExitCallback on_exit, ErrorHandler on_error)
    : client_(client),
      job_(std::move(job)),
      options_(std::move(options)),
      on_exit_(std::move(on_exit)),
      on_error_(std::move(on_error)),
      thread_([this](std::stop_token stop) { Run(stop); }) {}

void KubernetesCluster::Launch(int worker) {
  {
    std::lock_guard lock(mutex_);
    Worker& state = workers_[worker];
    if (!state.ended) return;
    state = {.attempt = state.attempt + 1, .killed = false, .ended = false};
  }
  queue_.Add(absl::StrCat(worker));
}

void KubernetesCluster::Kill(int worker) {
  {
    std::lock_guard lock(mutex_);
    Worker& state = workers_[worker];
    if (state.ended) return;
    state.killed = true;
  }
  queue_.Add(absl::StrCat(worker));
}

void KubernetesCluster::OnPodChange(const kube::Change& change) {
  const int worker = WorkerOf(*change.object);
  const int attempt = AttemptOf(*change.object);
  if (const auto end = EndOf(*change.object)) {
    End(worker, attempt, end->clean, end->why);
  } else if (change.kind == kube::Change::Kind::kDeleted) {
    End(worker, attempt, false, "its pod was deleted");
  }
}

void KubernetesCluster::Run(const std::stop_token& stop) {
  while (const auto key = queue_.Take(stop)) {
    int worker = 0;
    if (!absl::SimpleAtoi(*key, &worker)) continue;
    const absl::Status done = Reconcile(worker);
    if (done.ok()) {
      queue_.Forget(*key);
    } else {
      on_error_(worker, done);
      queue_.Retry(*key);
    }
    queue_.Done(*key);
  }
}

absl::Status KubernetesCluster::Reconcile(int worker) {
  const std::optional<Worker> state = Find(worker);
  if (!state || state->ended) return absl::OkStatus();
  return state->killed ? Delete(worker, state->attempt) : Create(worker, state->attempt);
}

absl::Status KubernetesCluster::Create(int worker, int attempt) {
  const kube::Json pod = MakeWorkerPod(*job_, worker, attempt, options_);
  const absl::StatusOr<kube::Json> made = client_.Create(kPods, pod);
  if (!absl::IsAlreadyExists(made.status())) return made.status();
  // From a try whose answer was lost, or from this program's life before: ours either way, unless
  // somebody else took the name.
  const absl::StatusOr<kube::Json> there = client_.Get(kPods, kube::KeyOf(pod));
  if (!there.ok()) return there.status();
  if (kube::ControllerUid(*there) != kube::Uid(*job_)) return made.status();
  OnPodChange({.kind = kube::Change::Kind::kUpdated,
               .before = nullptr,
               .object = std::make_shared<const kube::Json>(*there)});
  return absl::OkStatus();
}

absl::Status KubernetesCluster::Delete(int worker, int attempt) {
  const kube::Json pod = MakeWorkerPod(*job_, worker, attempt, options_);
  const absl::Status deleted =
      client_.Delete(kPods, kube::KeyOf(pod), {.grace_period_seconds = kKillGracePeriod});
  if (!absl::IsNotFound(deleted)) return deleted;
  // Never created, or gone without anyone having seen it.
  End(worker, attempt, false, "its pod was deleted");
  return absl::OkStatus();
}

std::optional<KubernetesCluster::Worker> KubernetesCluster::Find(int worker) {
  std::lock_guard lock(mutex_);
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return std::nullopt;
  return found->second;
}

void KubernetesCluster::End(int worker, int attempt, bool clean, std::string why) {
  {
    std::lock_guard lock(mutex_);
    const auto found = workers_.find(worker);
    if (found == workers_.end() || found->second.attempt != attempt || found->second.ended) return;
    found->second.ended = true;
  }
  on_exit_(worker, clean, std::move(why));
}

}  // namespace freezepipe::cluster
