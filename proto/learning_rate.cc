#include "proto/learning_rate.h"

#include <cmath>
#include <numbers>

namespace freezepipe {

double LearningRateAt(const v1alpha1::TrainingSpec& training, int step, int total_steps) {
  const auto& schedule = training.learning_rate_schedule();
  const double peak = training.optimizer().learning_rate();
  const int warmup = schedule.warmup_steps();
  if (step < warmup) return peak * (step + 1) / warmup;
  switch (schedule.type()) {
    case v1alpha1::LearningRateSchedule::Cosine: {
      if (total_steps <= warmup) return peak;
      const double progress = static_cast<double>(step - warmup) / (total_steps - warmup);
      return peak * 0.5 * (1 + std::cos(std::numbers::pi * progress));
    }
    case v1alpha1::LearningRateSchedule::Step:
      return peak * std::pow(schedule.gamma(), (step - warmup) / schedule.step_size());
    default:
      return peak;
  }
}

}  // namespace freezepipe
