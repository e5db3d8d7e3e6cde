#include "operator/report/summary_builder.h"

#include <algorithm>
#include <utility>

namespace freezepipe::report {

using v1alpha1::JobEvent;

SummaryBuilder::SummaryBuilder(RunFacts facts) : facts_(std::move(facts)) {}

void SummaryBuilder::Add(const JobEvent& event) {
  last_time_ = std::max(last_time_, event.time());
  switch (event.kind_case()) {
    case JobEvent::kWorkerStarted:
      StartWorker(event.worker_started().worker(), event.time());
      break;
    case JobEvent::kWorkerReleased: {
      ReleaseWorker(event.worker_released().worker(), event.time());
      v1alpha1::ReleaseRecord& release = releases_.emplace_back();
      release.set_step(event.step());
      release.set_worker(event.worker_released().worker());
      release.set_time(event.time());
      break;
    }
    case JobEvent::kWorkerLost:
      LoseWorker(event.worker_lost().worker(), event.time());
      break;
    case JobEvent::kRepartitionDone:
      repartitions_.push_back(event.repartition_done());
      break;
    case JobEvent::kRestored:
      ForgetEpochsAfter(event.restored().step());
      break;
    case JobEvent::kEpochDone:
      ForgetEpochsAfter(event.epoch_done().step() - 1);  // it may be evaluated again
      epochs_.push_back(event.epoch_done());
      break;
    default:
      break;
  }
}

void SummaryBuilder::ResumeFrom(int step) {
  for (auto& [worker, device] : devices_) {
    if (device.held_since) device_seconds_ += last_time_ - *device.held_since;
    if (device.kept_since) device_seconds_without_release_ += last_time_ - *device.kept_since;
  }
  devices_.clear();
  lost_.clear();
  ForgetEpochsAfter(step);
}

v1alpha1::Summary SummaryBuilder::Build(const v1alpha1::FreezePipeJobStatus& status,
                                        double time) const {
  v1alpha1::Summary summary;
  summary.set_job(facts_.job);
  summary.set_state(status.state());
  summary.set_message(status.message());
  if (!epochs_.empty()) {
    summary.set_accuracy(epochs_.back().accuracy());
    summary.set_loss(epochs_.back().loss());
  }
  summary.mutable_epochs()->Assign(epochs_.begin(), epochs_.end());
  summary.set_steps(status.step());
  summary.set_total_steps(facts_.total_steps);
  summary.set_wall_seconds(time);

  double held = device_seconds_;
  double kept = device_seconds_without_release_;
  for (const auto& [worker, device] : devices_) {
    if (device.held_since) held += time - *device.held_since;
    if (device.kept_since) kept += time - *device.kept_since;
  }
  summary.set_device_seconds(held);
  summary.set_device_seconds_without_release(kept);

  *summary.mutable_freeze_log() = status.freeze_log();
  summary.mutable_repartitions()->Assign(repartitions_.begin(), repartitions_.end());
  summary.mutable_releases()->Assign(releases_.begin(), releases_.end());
  summary.set_workers(facts_.workers);
  summary.set_oversubscribed(facts_.oversubscribed);
  summary.set_restarts(restarts_);

  if (time > 0 && facts_.steps_per_epoch > 0) {
    const double epochs = status.step() / facts_.steps_per_epoch;
    const double rest = status.step() % facts_.steps_per_epoch;
    summary.set_samples_per_second((epochs * facts_.train_samples + rest * facts_.batch_size) /
                                   time);
  }
  return summary;
}

void SummaryBuilder::StartWorker(int worker, double time) {
  if (lost_.erase(worker) > 0) ++restarts_;
  Device& device = devices_[worker];
  if (!device.held_since) device.held_since = time;
  if (!device.kept_since) device.kept_since = time;
}

void SummaryBuilder::ReleaseWorker(int worker, double time) {
  Device& device = devices_[worker];
  if (device.held_since) device_seconds_ += time - *device.held_since;
  device.held_since.reset();
}

void SummaryBuilder::LoseWorker(int worker, double time) {
  Device& device = devices_[worker];
  // A released worker that is gone is where it should be.
  if (!device.held_since) return;
  lost_.insert(worker);
  device_seconds_ += time - *device.held_since;
  device_seconds_without_release_ += time - *device.kept_since;
  device = {};
}

void SummaryBuilder::ForgetEpochsAfter(int step) {
  std::erase_if(epochs_,
                [step](const v1alpha1::EpochResult& epoch) { return epoch.step() > step; });
}

}  // namespace freezepipe::report
