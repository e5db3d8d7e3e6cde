#include "operator/reconciler/device_time.h"

#include <algorithm>

#include "operator/cluster/kubernetes/job_pod.h"
#include "operator/reconciler/job_pods.h"

namespace freezepipe::reconciler {

void DeviceTime::Add(const Snapshot& snapshot, v1alpha1::FreezePipeJobStatus* status) {
  const std::chrono::duration<double> passed =
      last_ ? std::max(kube::Duration::zero(), kube::Duration(snapshot.now - *last_))
            : kube::Duration::zero();
  status->set_device_seconds_held(status->device_seconds_held() + passed.count() * held_);
  status->set_device_seconds_saved(status->device_seconds_saved() + passed.count() * freed_);
  last_ = snapshot.now;
  held_ = static_cast<int>(std::count_if(
      snapshot.pods.begin(), snapshot.pods.end(),
      [](const kube::Object& pod) { return cluster::WorkerOf(*pod) >= 0 && HoldsDevices(*pod); }));
  freed_ = status->freed_workers();
}

}  // namespace freezepipe::reconciler
