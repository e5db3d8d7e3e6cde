#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "operator/kube/cache.h"
#include "operator/reconciler/runs.h"

namespace freezepipe::reconciler {

/// Pods by the uid of the job that controls them, and by their own.
inline constexpr char kPodsByJob[] = "job";
inline constexpr char kPodsByUid[] = "uid";
/// What the pods' cache has to be made with.
std::map<std::string, kube::Cache::Index> PodIndexes();

// clang-format off
/// Brings one job after the other to what its spec says. Level-driven: each call looks at all there
/// is, and does the next thing. What a job's status.state has it do:
///
///   none, Pending       suspended by its spec, or invalid, or: start its run
///   Starting ... Stopping   it has a run (JobRun), here or, after a change of leader, anew
///   Stopped             its session has stopped: Suspended once its pods have ended, or on again
///   Suspended           nothing, until the spec says otherwise
///   Succeeded, Failed   clean up; Complete or Failed once its pods have ended; delete it in time
// clang-format on
class Reconciler {
 public:
  using Clock = std::function<kube::WallTime()>;

  /// All outlive it. The caches are synced.
  Reconciler(const Surroundings& surroundings, const kube::Cache& jobs, const kube::Cache& pods,
             Clock clock = std::chrono::system_clock::now);

  /// One job; never two calls for the same one at once. The answer says after how long it is to be
  /// looked at again even if nothing changes.
  absl::StatusOr<std::optional<kube::Duration>> Reconcile(const kube::ObjectKey& job);

  /// For the pods' cache: tells the job's run, and has the job looked at.
  void OnPodChange(const kube::Change& change);
  /// For the jobs' cache.
  void OnJobChange(const kube::Change& change);

 private:
  using Answer = absl::StatusOr<std::optional<kube::Duration>>;

  Answer ReconcileJob(const kube::Object& job);
  /// Says so, and forgets what was so of the training before.
  void StartOver(Snapshot* snapshot);
  /// False: the cache will have a newer one soon, perhaps of a job that has ended since.
  absl::StatusOr<bool> IsNewest(const kube::Json& job);
  Answer Begin(Snapshot snapshot);
  Answer Continue(JobRun& run, Snapshot snapshot);
  Answer Suspend(const Snapshot& snapshot);
  Answer Finish(const Snapshot& snapshot);

  /// What the API server dislikes about a worker's pod; empty if nothing.
  absl::StatusOr<std::string> FaultsOfPods(const Snapshot& snapshot);
  /// It can't begin for now; the error is the answer.
  Answer Wait(const Snapshot& snapshot, const absl::Status& why);
  /// "Reason: message": the job is given up before it has begun.
  Answer Fail(const Snapshot& snapshot, const std::string& why);
  /// Writes the status of a job that doesn't run.
  absl::Status SetState(const Snapshot& snapshot, v1alpha1::JobState::Type state,
                        const std::string& message);
  absl::Status Clean(const Snapshot& snapshot);
  Pods PodsOf(const Snapshot& snapshot) const;

  const Surroundings& surroundings_;
  const kube::Cache& jobs_;
  const kube::Cache& pods_;
  const Clock clock_;
  Runs runs_;
};

}  // namespace freezepipe::reconciler
