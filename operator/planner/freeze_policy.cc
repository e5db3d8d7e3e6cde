#include "operator/planner/freeze_policy.h"

#include <cmath>

#include "operator/planner/gradient_change_policy.h"
#include "operator/planner/schedule_policy.h"

namespace freezepipe::planner {
namespace {

/// None, and Manual, whose log is in force from the start.
class NoChoice : public FreezePolicy {
 public:
  std::optional<FreezeChoice> Decide(
      const std::vector<WindowStatistics>& windows,
      const std::vector<v1alpha1::FreezeLogEntry>& log) const override {
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<FreezePolicy> MakeFreezePolicy(const v1alpha1::FreezeSpec& spec,
                                               const RunShape& shape) {
  switch (spec.policy()) {
    case v1alpha1::FreezePolicy::GradientChange:
      return std::make_unique<GradientChangePolicy>(spec, shape);
    case v1alpha1::FreezePolicy::Schedule:
      return std::make_unique<SchedulePolicy>(spec, shape);
    default:
      return std::make_unique<NoChoice>();
  }
}

int CoolDownSteps(const v1alpha1::FreezeSpec& spec, int total_steps) {
  return static_cast<int>(std::lround(spec.cool_down() * total_steps));
}

}  // namespace freezepipe::planner
