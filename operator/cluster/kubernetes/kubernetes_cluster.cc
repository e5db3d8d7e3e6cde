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

constexpr char kDeleted[] = "its pod was deleted";

}  // namespace

std::map<int, KubernetesCluster::Worker> KubernetesCluster::NewestOf(
    const std::vector<kube::Object>& pods) {
  std::map<int, Worker> workers;
  for (const auto& pod : pods) {
    const int attempt = AttemptOf(*pod);
    Worker& worker = workers[WorkerOf(*pod)];
    if (attempt > worker.attempt) worker = {.attempt = attempt, .ended = EndOf(*pod).has_value()};
  }
  return workers;
}

KubernetesCluster::KubernetesCluster(kube::Client& client, kube::Object job, PodOptions options,
                                     const std::vector<kube::Object>& pods, ExitCallback on_exit,
                                     ErrorHandler on_error)
    : client_(client),
      options_(std::move(options)),
      on_exit_(std::move(on_exit)),
      on_error_(std::move(on_error)),
      job_(std::move(job)),
      workers_(NewestOf(pods)),
      thread_([this](std::stop_token stop) { Run(stop); }) {}

void KubernetesCluster::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void KubernetesCluster::OnJobChange(kube::Object job) {
  std::lock_guard lock(mutex_);
  job_ = std::move(job);
}

kube::Object KubernetesCluster::Job() {
  std::lock_guard lock(mutex_);
  return job_;
}

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
  const auto state = Find(worker);
  // Else it was deleted for its silence, on a node that is there: its own fault.
  const bool by_others = state && !state->killed;
  if (const auto end = EndOf(*change.object)) {
    End(worker, attempt, {end->clean, end->disrupted && by_others, end->why});
  } else if (change.kind == kube::Change::Kind::kDeleted) {
    End(worker, attempt, {.disrupted = by_others, .why = kDeleted});
  }
}

void KubernetesCluster::EndLost(const std::vector<kube::Object>& pods, kube::WallTime now) {
  for (const auto& pod : pods) {
    if (EndOf(*pod) || !IsLostWithItsNode(*pod, now)) continue;
    const std::string node = kube::TextAt(*pod, kube::Json::json_pointer("/spec/nodeName"));
    const std::string why = absl::StrCat("its node ", node, " was lost");
    End(WorkerOf(*pod), AttemptOf(*pod), {.disrupted = true, .why = why});
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
  const kube::Object job = Job();
  const kube::Json pod = MakeWorkerPod(*job, worker, attempt, options_);
  const absl::StatusOr<kube::Json> made = client_.Create(kPods, pod);
  if (!absl::IsAlreadyExists(made.status())) return made.status();
  // From a try whose answer was lost, or from this program's life before: ours either way, unless
  // somebody else took the name.
  const absl::StatusOr<kube::Json> there = client_.Get(kPods, kube::KeyOf(pod));
  if (!there.ok()) return there.status();
  if (kube::ControllerUid(*there) != kube::Uid(*job)) return made.status();
  OnPodChange({.kind = kube::Change::Kind::kUpdated,
               .before = nullptr,
               .object = std::make_shared<const kube::Json>(*there)});
  return absl::OkStatus();
}

absl::Status KubernetesCluster::Delete(int worker, int attempt) {
  const kube::Json pod = MakeWorkerPod(*Job(), worker, attempt, options_);
  const absl::Status deleted =
      client_.Delete(kPods, kube::KeyOf(pod), {.grace_period_seconds = kKillGracePeriod});
  if (!absl::IsNotFound(deleted)) return deleted;
  // Never created, or gone without anyone having seen it.
  End(worker, attempt, {.why = kDeleted});
  return absl::OkStatus();
}

std::optional<KubernetesCluster::Worker> KubernetesCluster::Find(int worker) {
  std::lock_guard lock(mutex_);
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return std::nullopt;
  return found->second;
}

void KubernetesCluster::End(int worker, int attempt, WorkerEnd end) {
  {
    std::lock_guard lock(mutex_);
    const auto found = workers_.find(worker);
    if (found == workers_.end() || found->second.attempt != attempt || found->second.ended) return;
    found->second.ended = true;
  }
  on_exit_(worker, std::move(end));
}

}  // namespace freezepipe::cluster
