#include "operator/planner/stage_drift.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace freezepipe::planner {
namespace {

constexpr double kTolerance = 0.1;
/// Fewer windows, or steps of less time in all, may be anything else on the machine.
constexpr size_t kWindows = 4;
constexpr double kSeconds = 5;

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Of windows [first, end).
bool Enough(const std::vector<StageTimes>& windows, size_t first) {
  double seconds = 0;
  for (size_t i = first; i < windows.size(); ++i) seconds += windows[i].seconds;
  return windows.size() - first >= kWindows && seconds >= kSeconds;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void KeepNewest(std::vector<StageTimes>& windows) {
  while (windows.size() > kWindows && Enough(windows, 1)) windows.erase(windows.begin());
}

std::optional<std::vector<double>> StageDrift(const std::vector<double>& predicted_seconds,
                                              const std::vector<StageTimes>& windows) {
  if (!Enough(windows, 0)) return std::nullopt;

  std::vector<double> measured;
  for (size_t stage = 0; stage < predicted_seconds.size(); ++stage) {
    std::vector<double> shares;
    for (const auto& window : windows) {
      shares.push_back(window.busy_seconds[stage] / Sum(window.busy_seconds));
    }
    measured.push_back(Median(std::move(shares)));
  }
  const double all_measured = Sum(measured), all_predicted = Sum(predicted_seconds);
  bool drifted = false;
  std::vector<double> factors;
  for (size_t stage = 0; stage < measured.size(); ++stage) {
    const double predicted = predicted_seconds[stage] / all_predicted;
    // A stage whose outputs are all kept has no work by which it could be wrong.
    factors.push_back(predicted > 0 ? measured[stage] / all_measured / predicted : 1);
    drifted |= std::abs(factors.back() - 1) > kTolerance;
  }
  if (!drifted) return std::nullopt;
  return factors;
}

}  // namespace freezepipe::planner
