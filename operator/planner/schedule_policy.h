#pragma once

#include "operator/planner/freeze_policy.h"

namespace freezepipe::planner {

/// By the progress of the run alone: layer i of `maximum` is chosen at start + (end - start) i /
/// maximum of it, at the first window's end from there on.
class SchedulePolicy : public FreezePolicy {
 public:
  SchedulePolicy(const v1alpha1::FreezeSpec& spec, const RunShape& shape);

  std::optional<FreezeChoice> Decide(
      const std::vector<WindowStatistics>& windows,
      const std::vector<v1alpha1::FreezeLogEntry>& log) const override;

 private:
  const v1alpha1::FreezeScheduleSpec schedule_;
  const RunShape shape_;
  const int max_frozen_;
};

}  // namespace freezepipe::planner
