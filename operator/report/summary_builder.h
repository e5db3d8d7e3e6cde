#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "freezepipe/v1alpha1/report.pb.h"

namespace freezepipe::report {

/// What a summary needs to know beyond the events.
struct RunFacts {
  std::string job;
  /// Workers at the start.
  int workers = 0;
  int total_steps = 0;
  int steps_per_epoch = 0;
  int batch_size = 0;
  /// Training samples of an epoch.
  int train_samples = 0;
  /// More worker threads than cores.
  bool oversubscribed = false;
};

/// Adds up a job's events to its summary. No clock, no I/O: times are those of the events, and
/// never go back.
class SummaryBuilder {
 public:
  explicit SummaryBuilder(RunFacts facts);

  void Add(const v1alpha1::JobEvent& event);

  /// The events so far were those of an earlier process, which is gone with its workers; the job
  /// goes on from this step, and the next events' times go on from the last one.
  void ResumeFrom(int step);

  /// The summary of a job that ended (or stands) at `time` with this status.
  v1alpha1::Summary Build(const v1alpha1::FreezePipeJobStatus& status, double time) const;

  /// Time of the newest event, seconds.
  double last_time() const { return last_time_; }

 private:
  /// A worker's device from its start: `held` until it is released or lost; `kept` until it is lost
  /// or the run ends, as if nothing were ever released.
  struct Device {
    std::optional<double> held_since;
    std::optional<double> kept_since;
  };

  void StartWorker(int worker, double time);
  void ReleaseWorker(int worker, double time);
  void LoseWorker(int worker, double time);
  void ForgetEpochsAfter(int step);

  const RunFacts facts_;
  std::map<int, Device> devices_;
  /// Lost and not yet started again.
  std::set<int> lost_;
  double last_time_ = 0;
  double device_seconds_ = 0;
  double device_seconds_without_release_ = 0;
  int restarts_ = 0;
  std::vector<v1alpha1::EpochResult> epochs_;
  std::vector<v1alpha1::RepartitionDone> repartitions_;
  std::vector<v1alpha1::ReleaseRecord> releases_;
};

}  // namespace freezepipe::report
