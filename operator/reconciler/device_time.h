#pragma once

#include <optional>

#include "operator/reconciler/snapshot.h"

namespace freezepipe::reconciler {

/// Adds up the seconds that a job's pods hold their devices, and those that freed devices have been
/// free of the job. What passes while no operator looks isn't counted.
class DeviceTime {
 public:
  /// Adds what passed since the last call to `status`.
  void Add(const Snapshot& snapshot, v1alpha1::FreezePipeJobStatus* status);

 private:
  std::optional<kube::WallTime> last_;
  /// As it was since then.
  int held_ = 0;
  int freed_ = 0;
};

}  // namespace freezepipe::reconciler
