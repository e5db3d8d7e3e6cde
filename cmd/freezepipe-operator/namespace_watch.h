#pragma once

#include <atomic>
#include <optional>
#include <stop_token>
#include <string>

#include "operator/kube/reflector.h"
#include "operator/reconciler/reconciler.h"

namespace freezepipe::operator_program {

/// The jobs of one namespace (or of all) and their pods: watched from the start on, reconciled once
/// this replica leads.
class NamespaceWatch {
 public:
  /// Empty `ns`: all namespaces. `client` outlives it.
  NamespaceWatch(kube::Client& client, const std::string& ns,
                 kube::Reflector::ErrorHandler on_error);

  /// Both caches have their first list; false: `stop` came first.
  bool WaitUntilSynced(const std::stop_token& stop) const;

  /// The highest term in the status of a job; 0 if no leader has written one.
  int HighestTerm() const;

  /// From now on changes are told to the reconciler, which has every job looked at. Called once;
  /// `surroundings` outlive this.
  void Lead(const reconciler::Surroundings& surroundings);

  /// No change is heard of any more, and no job runs here; what was heard of stays.
  void Stop();

  /// The pod of this uid as last heard of; null if it isn't known. Thread-safe.
  kube::Object FindPod(const std::string& uid) const;

  /// There since Lead.
  reconciler::Reconciler& reconciler() { return *reconciler_; }

 private:
  kube::Cache jobs_;
  kube::Cache pods_{reconciler::PodIndexes()};
  std::optional<reconciler::Reconciler> reconciler_;
  /// The reconciler is there for good.
  std::atomic<bool> leads_ = false;
  /// Last: they use all of the above.
  std::optional<kube::Reflector> job_reflector_;
  std::optional<kube::Reflector> pod_reflector_;
};

}  // namespace freezepipe::operator_program
