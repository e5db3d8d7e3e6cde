#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "operator/planner/freeze_policy.h"
#include "operator/planner/stage_drift.h"

namespace freezepipe::coordinator {

struct WholeWindow {
  /// Without a learning rate.
  planner::WindowStatistics statistics;
  planner::StageTimes times;
  /// The least of the stages' cached shares; none where nothing is frozen.
  std::optional<double> cached_share;
};

/// Joins what the stages report of one statistics window. A window is whole when every stage of its
/// generation has reported; windows come out in the order of their steps, each once.
class WindowCollector {
 public:
  explicit WindowCollector(int layers);

  /// `stages`: of the report's generation. Gives the window once it is whole.
  std::optional<WholeWindow> Add(const v1alpha1::WindowReport& report, int stages);

  /// Windows up to this step are known.
  void SkipTo(int step) { last_step_ = step; }

  /// The report adds something to a window that is not whole.
  bool IsNews(const v1alpha1::WindowReport& report) const;

  /// Forgets what is not whole, and that windows after this step ever were.
  void Rewind(int step);

 private:
  using Key = std::pair<int, int>;  // step, generation

  int layers_;
  int last_step_ = 0;
  std::map<Key, std::map<int, v1alpha1::WindowReport>> open_;
};

}  // namespace freezepipe::coordinator
