#include "operator/reconciler/device_time.h"

#include <algorithm>

#include "operator/cluster/kubernetes/job_pod.h"
#include "operator/reconciler/job_pods.h"

namespace freezepipe::reconciler {

void DeviceTime::Look(const Snapshot& snapshot) {
  if (last_) {
    const std::chrono::duration<double> passed = snapshot.now - *last_;
    // The wall clock may have been put back.
    held_seconds_ += std::max(0.0, passed.count()) * held_;
    freed_seconds_ += std::max(0.0, passed.count()) * freed_;
  }
  last_ = snapshot.now;
  held_ = static_cast<int>(std::count_if(
      snapshot.pods.begin(), snapshot.pods.end(),
      [](const kube::Object& pod) { return cluster::WorkerOf(*pod) >= 0 && HoldsDevices(*pod); }));
  freed_ = snapshot.status.freed_workers();
}

void DeviceTime::AddTo(v1alpha1::FreezePipeJobStatus* status) const {
  status->set_device_seconds_held(status->device_seconds_held() + held_seconds_);
  status->set_device_seconds_saved(status->device_seconds_saved() + freed_seconds_);
}

void DeviceTime::Written() { held_seconds_ = freed_seconds_ = 0; }

}  // namespace freezepipe::reconciler
