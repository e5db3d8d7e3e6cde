#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/cluster/kubernetes/kubernetes_cluster.h"
#include "operator/coordinator/session_runner.h"
#include "operator/kube/event_recorder.h"
#include "operator/reconciler/device_time.h"
#include "operator/reconciler/snapshot.h"
#include "operator/reconciler/status_store.h"

namespace freezepipe::reconciler {

/// What all jobs of one leader share; outlives them.
struct Surroundings {
  kube::Client* client = nullptr;
  kube::EventRecorder* events = nullptr;
  coordinator::CoordinatorServer* coordinator = nullptr;
  cluster::PodOptions pods;
  /// Of this leader.
  int term = 1;
  /// A job is to be looked at (again), after a while.
  std::function<void(const kube::ObjectKey& job, kube::Duration delay)> look_at;
  /// Something failed that is tried again.
  std::function<void(const kube::ObjectKey& job, const absl::Status& error)> on_error;
};

/// A job that runs: its session, its pods, its status. Thread-safe, but for Report: one thread.
class JobRun : private coordinator::Listener {
 public:
  /// Goes on from `snapshot.status` if the job has run before, with the pods that are there.
  JobRun(const Surroundings& surroundings, const Snapshot& snapshot);
  ~JobRun() override;

  kube::ObjectKey key() const { return kube::KeyOf(*job_); }

  void OnPodChange(const kube::Change& change) { cluster_.OnPodChange(change); }
  /// The job as it is now.
  void OnJobChange(kube::Object job) { cluster_.OnJobChange(std::move(job)); }
  /// All the job's pods, as they were and as they are.
  void OnPods(const std::vector<kube::Object>& before, const std::vector<kube::Object>& now);
  /// See KubernetesCluster::EndLost.
  void EndLost(const Snapshot& snapshot) { cluster_.EndLost(snapshot.pods, snapshot.now); }

  /// Stops training after the step under way, in good order.
  void Stop();
  /// The job fails, with "Reason: message".
  void GiveUp(const std::string& why);

  /// The session has ended: its status is the last, and its workers were told to go.
  bool over() const { return over_; }
  /// As the session has it now.
  v1alpha1::FreezePipeJobStatus status() const { return session_->Status(); }

  /// Writes how the job stands, in the job's status.
  absl::Status Report(const Snapshot& snapshot, Pods pods);
  /// When there is something new to report though nothing happens.
  std::optional<kube::Duration> UntilReport() const;

 private:
  void SayWhatItWaitsFor(const Snapshot& snapshot);
  void OnPodError(int worker, const absl::Status& error);
  void OnEvent(const v1alpha1::JobEvent& event) override;
  void OnOver(const v1alpha1::FreezePipeJobStatus& status) override;

  const Surroundings& surroundings_;
  const kube::Object job_;
  StatusStore store_;
  DeviceTime device_time_;
  /// What its pods wait for, as it was said last.
  std::string waits_for_;
  std::atomic<bool> over_ = false;
  std::atomic<bool> stopping_ = false;
  cluster::KubernetesCluster cluster_;
  /// Last: it uses all of the above.
  std::unique_ptr<coordinator::SessionRunner> session_;
};

}  // namespace freezepipe::reconciler
