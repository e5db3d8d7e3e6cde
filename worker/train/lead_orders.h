#pragma once

#include <mutex>
#include <optional>

#include "freezepipe/v1alpha1/job.pb.h"
#include "worker/transport/channel.h"

namespace freezepipe::worker {

/// What the coordinator wants in the lead's next header. Thread-safe.
class LeadOrders {
 public:
  void ScheduleFreeze(const v1alpha1::FreezeLogEntry& entry);
  void Switch(int generation);
  void Stop();
  /// Forgets everything: training was left.
  void Clear();

  /// The generation that a switch was ordered to since then, whether in a header yet or not; 0 for
  /// none.
  int switching_to() const;
  bool stopping() const;

  /// Puts what is wanted into the header; an entry that comes too late for its step moves to
  /// header->step with its cool-down unchanged. Each wish is put into one header only.
  void PutInto(StepHeader* header);

 private:
  mutable std::mutex mutex_;
  std::optional<v1alpha1::FreezeLogEntry> entry_;
  int generation_ = 0;
  int switching_to_ = 0;
  bool stop_ = false;
};

}  // namespace freezepipe::worker
