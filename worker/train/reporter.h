#pragma once

#include <chrono>
#include <functional>

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "worker/pipeline/pipeline.h"

namespace freezepipe::worker {

/// Gathers what happens in steps and says it: progress at most twice a second, a report a window
/// and an epoch.
class Reporter {
 public:
  using Say = std::function<void(v1alpha1::WorkerMessage)>;

  Reporter(const JobContext& job, Say say) : job_(job), say_(std::move(say)) {}

  /// Training starts or goes on; times of an unfinished window are kept.
  void Begin();
  /// Training was left: an unfinished window will be computed again.
  void Reset();

  /// After a step; `steps` are done, with layers [0, boundary) frozen. `seconds`: from step to
  /// step.
  void OnStep(const Generation& generation, const Stage& stage, int steps,
              const StepOutcome& outcome, double seconds);
  /// After an epoch's evaluation, on every worker; the lead says it.
  void OnEvaluation(const Generation& generation, const Stage& stage, int steps,
                    const EvaluationOutcome& outcome, double seconds);

 private:
  struct Times {
    double seconds = 0;
    StageSeconds stage;
    CacheUse cache;
  };
  void ReportProgress(int steps, const Generation& generation, const StepOutcome& outcome,
                      double seconds);
  void ReportWindow(int steps, const Generation& generation, const Stage& stage);

  const JobContext& job_;
  const Say say_;
  Times window_;
  std::chrono::steady_clock::time_point last_progress_;
  int64_t samples_since_ = 0;
};

}  // namespace freezepipe::worker
