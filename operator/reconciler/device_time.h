#pragma once

#include <optional>

#include "operator/reconciler/snapshot.h"

namespace freezepipe::reconciler {

/// Adds up the seconds that a job's pods hold their devices, and those that freed devices have been
/// free of the job. What passes while no operator looks isn't counted.
class DeviceTime {
 public:
  /// Counts what passed since the last look.
  void Look(const Snapshot& snapshot);
  /// Adds what was counted and isn't in the job's status yet.
  void AddTo(v1alpha1::FreezePipeJobStatus* status) const;
  /// It is now.
  void Written();

  /// Seconds go by: devices were held, or free, at the last look.
  bool passes() const { return held_ > 0 || freed_ > 0; }

 private:
  std::optional<kube::WallTime> last_;
  /// As it was since then.
  int held_ = 0;
  int freed_ = 0;
  double held_seconds_ = 0;
  double freed_seconds_ = 0;
};

}  // namespace freezepipe::reconciler
