#pragma once

#include <absl/status/status.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "operator/cluster/cluster.h"
#include "operator/cluster/kubernetes/job_pod.h"
#include "operator/kube/cache.h"
#include "operator/kube/client.h"
#include "operator/kube/work_queue.h"

namespace freezepipe::cluster {

/// One job's workers as pods. What the API server doesn't do for now is tried again, with back-off,
/// for as long as it is wanted; which pods there are is told by whoever watches them (OnPodChange,
/// EndLost). Pods outlive it: they are the job's, whose deletion takes them along, and another one
/// goes on with them. Thread-safe. Requests are
/// made on a thread of its own; exits are called back on the thread that tells of them.
class KubernetesCluster : public Cluster {
 public:
  /// Told of each request that failed, on the cluster's thread.
  using ErrorHandler = std::function<void(int worker, const absl::Status& error)>;

  /// `job` as the API server has it, `pods` those that it has already; `client` outlives this.
  KubernetesCluster(kube::Client& client, kube::Object job, PodOptions options,
                    const std::vector<kube::Object>& pods, ExitCallback on_exit,
                    ErrorHandler on_error);

  /// Makes no request and, from its own thread, no call any more.
  void Stop();

  /// The job as it is now: pods that are made from here on follow its template.
  void OnJobChange(kube::Object job);

  /// A pod under the next attempt's name. A worker whose pod hasn't ended is left alone.
  void Launch(int worker) override;
  /// Deletes the pod. Its end is called back once it is gone.
  void Kill(int worker) override;

  /// A change of a pod that is the job's (kJobUidLabel); those of former attempts are ignored.
  void OnPodChange(const kube::Change& change);
  /// Pods that should be gone by now are lost with their nodes: their workers have ended.
  void EndLost(const std::vector<kube::Object>& pods, kube::WallTime now);

 private:
  struct Worker {
    /// Of the newest pod.
    int attempt = -1;
    bool killed = false;
    bool ended = true;
  };

  static std::map<int, Worker> NewestOf(const std::vector<kube::Object>& pods);
  void Run(const std::stop_token& stop);
  /// Makes the API server have the worker's pod, or not have it.
  absl::Status Reconcile(int worker);
  kube::Object Job();
  absl::Status Create(int worker, int attempt);
  absl::Status Delete(int worker, int attempt);
  std::optional<Worker> Find(int worker);
  /// Once for each attempt.
  void End(int worker, int attempt, WorkerEnd end);

  kube::Client& client_;
  const PodOptions options_;
  const ExitCallback on_exit_;
  const ErrorHandler on_error_;
  /// Guards job_ and workers_.
  std::mutex mutex_;
  kube::Object job_;
  std::map<int, Worker> workers_;
  /// Numbers of workers whose pod may not be as it should.
  kube::WorkQueue queue_;
  /// Last: it uses all of the above.
  std::jthread thread_;
};

}  // namespace freezepipe::cluster
