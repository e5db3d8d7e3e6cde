#include "operator/planner/release_objective.h"

#include <algorithm>
#include <cmath>

namespace freezepipe::planner {
namespace {

/// Predictions that differ by less than this share are equal: sums of measured seconds in another
/// order.
constexpr double kRounding = 1e-9;

struct Candidate {
  Partition partition;
  double step_seconds = 0;

  int stages() const { return static_cast<int>(partition.size()); }
};

/// Step time with all layers on one device, whether or not they fit.
double OneDeviceStepSeconds(const CostModel& model) {
  return StepSeconds(model, {static_cast<int>(model.layers.size())});
}

/// Best split for each number of stages that fits, ascending.
std::vector<Candidate> FittingCandidates(const CostModel& model, int held) {
  std::vector<Candidate> candidates;
  const int most = std::min(held, static_cast<int>(model.layers.size()));
  for (int stages = 1; stages <= most; ++stages) {
    auto partition = PartitionInto(model, stages);
    if (!partition) continue;
    const double seconds = StepSeconds(model, *partition);
    candidates.push_back({std::move(*partition), seconds});
  }
  return candidates;
}

const Candidate& Shortest(const std::vector<Candidate>& candidates) {
  const Candidate* best = &candidates.front();
  for (const auto& candidate : candidates) {
    if (candidate.step_seconds < best->step_seconds * (1 - kRounding)) best = &candidate;
  }
  return *best;
}

const Candidate& ForShare(const std::vector<Candidate>& candidates, const CostModel& model,
                          const Baseline& baseline, double time_share) {
  const double work_left =
      baseline.work_seconds > 0 ? OneDeviceStepSeconds(model) / baseline.work_seconds : 1;
  const double target = baseline.step_seconds * std::pow(work_left, time_share);
  for (const auto& candidate : candidates) {
    if (candidate.step_seconds <= target * (1 + kRounding)) return candidate;
  }
  return Shortest(candidates);
}

const Candidate& ForEfficiency(const std::vector<Candidate>& candidates, const CostModel& model,
                               double min_efficiency) {
  const double one_device = OneDeviceStepSeconds(model);
  for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) {
    const double device_seconds = it->stages() * it->step_seconds;
    if (one_device >= min_efficiency * device_seconds * (1 - kRounding)) return *it;
  }
  // Only where memory rules one stage out: nothing that fits is efficient enough.
  return candidates.front();
}

}  // namespace

Baseline MakeBaseline(const CostModel& model, const Partition& partition) {
  return {OneDeviceStepSeconds(model), StepSeconds(model, partition)};
}

std::optional<Partition> ChoosePartition(const CostModel& model,
                                         const v1alpha1::ReleaseSpec& release,
                                         const Baseline& baseline, int held) {
  const auto candidates = FittingCandidates(model, held);
  if (candidates.empty()) return std::nullopt;
  switch (release.objective()) {
    case v1alpha1::ReleaseObjective::Efficiency:
      return ForEfficiency(candidates, model, release.min_efficiency()).partition;
    case v1alpha1::ReleaseObjective::Time:
      return Shortest(candidates).partition;
    default:
      return ForShare(candidates, model, baseline, release.time_share()).partition;
  }
}

bool WorthRepartition(const CostModel& model, const Partition& from, const Partition& to,
                      double min_gain) {
  if (to == from) return false;
  if (to.size() < from.size()) return true;
  // Even where no gain is asked for, moving layers must win something.
  const double before = StepSeconds(model, from);
  const double after = StepSeconds(model, to);
  return after < before && after <= before * (1 - min_gain) * (1 + kRounding);
}

}  // namespace freezepipe::planner
