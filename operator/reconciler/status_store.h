#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <functional>
#include <mutex>
#include <string>

#include "operator/coordinator/session_runner.h"
#include "operator/kube/client.h"
#include "operator/reconciler/conditions.h"

namespace freezepipe::reconciler {

inline constexpr kube::Resource kJobs{"freezepipe.io", "v1alpha1", "freezepipejobs"};

/// Nothing was done, since the session's record is being written: it is no fault of anyone's.
bool IsRecordUnderWay(const absl::Status& status);

/// The status of one job: its session's durable record, and what the operator says of it. Written
/// with the resourceVersion it was read at, so that nothing is written over. A status of a higher
/// term isn't touched: whoever writes a lower one is deposed. Thread-safe; one write after the
/// other.
class StatusStore : public coordinator::RecordStore {
 public:
  using Clock = std::function<kube::WallTime()>;
  using Change = absl::FunctionRef<void(v1alpha1::FreezePipeJobStatus* status)>;

  /// `client` outlives it; its stop ends a write that waits for the API server.
  StatusStore(kube::Client& client, kube::ObjectKey job, std::string uid, int term,
              Clock clock = std::chrono::system_clock::now);

  /// The session's status. Waits for an API server that is away: the record has to be safe before
  /// its effect. Throws coordinator::Deposed when another leader has written, or this one may not
  /// any more (the client was stopped); std::runtime_error when the job was deleted or the API
  /// server refuses it.
  void Write(const v1alpha1::FreezePipeJobStatus& status) override;

  /// Changes the status as it stands, if that makes a difference; tried once. `known` is the job as
  /// it was last heard of: should it have changed since, it is read anew. IsRecordUnderWay while a
  /// record is being written. `change` is called while no other write is under way, perhaps several
  /// times.
  absl::Status Update(const kube::Json& known, Pods pods, Change change);

 private:
  absl::Status ReadAndUpdate(Pods pods, Change change);
  absl::Status TryUpdate(const kube::Json& job, Pods pods, Change change);

  kube::Client& client_;
  const kube::ObjectKey job_;
  const std::string uid_;
  const int term_;
  const Clock clock_;
  /// One write after the other: what was read for one isn't written after another.
  std::mutex writing_;
};

}  // namespace freezepipe::reconciler
