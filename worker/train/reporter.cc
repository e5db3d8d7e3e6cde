#include "worker/train/reporter.h"

#include <utility>

#include "proto/learning_rate.h"

namespace freezepipe::worker {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{500};

}  // namespace

void Reporter::Begin() {
  last_progress_ = std::chrono::steady_clock::now();
  samples_since_ = 0;
}

void Reporter::Reset() { window_ = {}; }

void Reporter::OnStep(const Generation& generation, const Stage& stage, int steps,
                      const StepOutcome& outcome, double seconds) {
  window_.seconds += seconds;
  window_.stage.Add(outcome.seconds);
  window_.cache.Add(outcome.cache);
  if (generation.last_stage()) {
    LossSums& sums = stage.layers().back()->loss_sums();
    sums.window += outcome.loss;
    ++sums.window_steps;
    sums.epoch += outcome.loss;
    ++sums.epoch_steps;
  }
  samples_since_ += outcome.samples;
  if (generation.lead()) ReportProgress(steps, generation, outcome, seconds);
  if (steps % job_.window_steps() == 0) {
    ReportWindow(steps, generation, stage);
    window_ = {};
    LossSums& sums = stage.layers().back()->loss_sums();
    sums.window = sums.window_steps = 0;
  }
}

void Reporter::ReportProgress(int steps, const Generation& generation, const StepOutcome& outcome,
                              double seconds) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_progress_ < kProgressInterval) return;
  v1alpha1::WorkerMessage message;
  auto& report = *message.mutable_step();
  report.set_generation(generation.number());
  report.set_step(steps);
  report.set_loss(outcome.loss);
  report.set_samples_per_second(static_cast<double>(samples_since_) /
                                std::chrono::duration<double>(now - last_progress_).count());
  report.set_learning_rate(LearningRateAt(job_.spec().training(), steps - 1, job_.total_steps()));
  report.set_step_seconds(seconds);
  say_(std::move(message));
  last_progress_ = now;
  samples_since_ = 0;
}

void Reporter::ReportWindow(int steps, const Generation& generation, const Stage& stage) {
  v1alpha1::WorkerMessage message;
  auto& report = *message.mutable_window();
  for (const auto& layer : stage.layers()) {
    if (layer->statistics() == nullptr) continue;
    const auto value = layer->statistics()->EndWindow();  // on every replica: it is state
    if (!value) continue;
    auto& statistic = *report.add_statistics();
    statistic.set_layer(layer->index());
    statistic.set_value(*value);
  }
  if (generation.position().replica != 0) return;
  report.set_generation(generation.number());
  report.set_stage(generation.position().stage);
  report.set_step(steps);
  if (generation.last_stage()) {
    const LossSums& sums = stage.layers().back()->loss_sums();
    report.set_loss(sums.window / sums.window_steps);
  }
  report.set_seconds(window_.seconds);
  report.set_forward_seconds(window_.stage.forward);
  report.set_backward_seconds(window_.stage.backward);
  report.set_optimizer_seconds(window_.stage.optimizer);
  report.set_wait_seconds(window_.stage.wait);
  if (window_.cache.rows > 0) {
    report.set_cached_share(static_cast<double>(window_.cache.read) /
                            static_cast<double>(window_.cache.rows));
  }
  say_(std::move(message));
}

void Reporter::OnEvaluation(const Generation& generation, const Stage& stage, int steps,
                            const EvaluationOutcome& outcome, double seconds) {
  LossSums& sums = stage.layers().back()->loss_sums();
  const double loss = std::exchange(sums.epoch, 0);
  const double loss_steps = std::exchange(sums.epoch_steps, 0);
  if (!generation.lead()) return;
  v1alpha1::WorkerMessage message;
  auto& report = *message.mutable_evaluation();
  report.set_epoch(steps / job_.sampler().steps_per_epoch());
  report.set_step(steps);
  report.set_accuracy(outcome.accuracy);
  report.set_loss(outcome.loss);
  report.set_training_loss(loss / loss_steps);
  report.set_seconds(seconds);
  say_(std::move(message));
}

}  // namespace freezepipe::worker
