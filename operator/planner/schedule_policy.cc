#include "operator/planner/schedule_policy.h"

#include <cstdio>

#include "operator/planner/freeze_settings.h"

namespace freezepipe::planner {

SchedulePolicy::SchedulePolicy(const v1alpha1::FreezeSpec& spec, const RunShape& shape)
    : schedule_(spec.schedule()), shape_(shape), max_frozen_(MaxFrozen(spec, shape.layers)) {}

std::optional<FreezeChoice> SchedulePolicy::Decide(
    const std::vector<WindowStatistics>& windows,
    const std::vector<v1alpha1::FreezeLogEntry>& log) const {
  if (windows.empty()) return std::nullopt;
  const double progress = static_cast<double>(windows.back().step) / shape_.total_steps;
  const double span = schedule_.end() - schedule_.start();
  constexpr double kRounding = 1e-9;
  int due = 0;
  while (due < max_frozen_ &&
         schedule_.start() + span * due / max_frozen_ <= progress + kRounding) {
    ++due;
  }
  if (due <= ChosenLayers(log)) return std::nullopt;
  char why[80];
  std::snprintf(why, sizeof(why), "schedule: %d of %d layers at %.0f %% of the run", due,
                max_frozen_, 100 * progress);
  return FreezeChoice{due, why};
}

}  // namespace freezepipe::planner
