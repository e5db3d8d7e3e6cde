#pragma once

#include <functional>
#include <string>

#include "operator/coordinator/session_runner.h"
#include "operator/kube/backoff.h"
#include "operator/kube/client.h"

namespace freezepipe::reconciler {

inline constexpr kube::Resource kJobs{"freezepipe.io", "v1alpha1", "freezepipejobs"};

/// A session's durable record as the job's status: written with the resourceVersion it was read at,
/// so that nothing is written over. A status of a higher term isn't touched: whoever writes a lower
/// one is deposed. One thread.
class StatusRecordStore : public coordinator::RecordStore {
 public:
  using Clock = std::function<kube::WallTime()>;

  /// `client` outlives it; its stop ends a write that waits for the API server.
  StatusRecordStore(kube::Client& client, kube::ObjectKey job, std::string uid, int term,
                    Clock clock = std::chrono::system_clock::now);

  /// With term, times and conditions. Waits for an API server that is away: the record has to be
  /// safe before its effect. Throws std::runtime_error when it can't be any more: the job was
  /// deleted, this leader is deposed, the API server refuses it, or the client was stopped.
  void Write(const v1alpha1::FreezePipeJobStatus& status) override;

 private:
  absl::Status TryWrite(const v1alpha1::FreezePipeJobStatus& status);

  kube::Client& client_;
  const kube::ObjectKey job_;
  const std::string uid_;
  const int term_;
  const Clock clock_;
};

}  // namespace freezepipe::reconciler
