#include "operator/coordinator/learning_rate.h"

#include <cmath>
#include <numbers>

namespace freezepipe::coordinator {

double LearningRateAt(const v1alpha1::TrainingSpec& training, int total_steps, int step) {
  const auto& schedule = training.learning_rate_schedule();
  const double base = training.optimizer().learning_rate();
  if (step < schedule.warmup_steps()) return base * (step + 1) / schedule.warmup_steps();

  switch (schedule.type()) {
    case v1alpha1::LearningRateSchedule::Cosine: {
      const int span = total_steps - schedule.warmup_steps();
      if (span <= 0) return base;
      const double progress = static_cast<double>(step - schedule.warmup_steps()) / span;
      return base * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    }
    case v1alpha1::LearningRateSchedule::Step:
      if (schedule.step_size() <= 0) return base;
      return base * std::pow(schedule.gamma(), step / schedule.step_size());
    default:
      return base;
  }
}

}  // namespace freezepipe::coordinator
