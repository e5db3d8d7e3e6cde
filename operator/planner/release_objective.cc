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

/// Best split for each number of stages from `least` to `most` that fits, ascending.
std::vector<Candidate> FittingCandidates(const CostModel& model, int least, int most) {
  std::vector<Candidate> candidates;
  most = std::min(most, static_cast<int>(model.layers.size()));
  for (int stages = least; stages <= most; ++stages) {
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

/// Stages that the objective asks for, of those that fit; not empty.
const Candidate& ChooseStages(const std::vector<Candidate>& candidates, const CostModel& model,
                              const v1alpha1::ReleaseSpec& release, const Baseline& baseline) {
  switch (release.objective()) {
    case v1alpha1::ReleaseObjective::Efficiency:
      return ForEfficiency(candidates, model, release.min_efficiency());
    case v1alpha1::ReleaseObjective::Time:
      return Shortest(candidates);
    default:
      return ForShare(candidates, model, baseline, release.time_share());
  }
}

}  // namespace

Baseline MakeBaseline(const CostModel& model, const Partition& partition) {
  return {OneDeviceStepSeconds(model), StepSeconds(model, partition)};
}

std::vector<int> ReplicaCounts(int micro_batches, int devices) {
  std::vector<int> counts;
  for (int replicas = 1; replicas <= std::min(micro_batches, devices); ++replicas) {
    if (micro_batches % replicas == 0) counts.push_back(replicas);
  }
  return counts;
}

std::optional<Shape> ShortestShape(const CostModel& model, const std::vector<int>& replicas,
                                   int devices, int stages) {
  std::optional<Shape> best;
  double shortest = 0;
  for (const int count : replicas) {
    const CostModel each = WithReplicas(model, count);
    const int held = devices / count;
    if (stages > held) continue;
    for (auto& candidate :
         FittingCandidates(each, stages > 0 ? stages : 1, stages > 0 ? stages : held)) {
      Shape shape{std::move(candidate.partition), count};
      const double seconds = candidate.step_seconds;
      const bool equal = best && std::abs(seconds - shortest) <= shortest * kRounding;
      if (best && !(equal ? shape.devices() < best->devices() : seconds < shortest)) continue;
      best = std::move(shape);
      shortest = seconds;
    }
  }
  return best;
}

std::optional<Shape> ChooseShape(const CostModel& model, const v1alpha1::ReleaseSpec& release,
                                 const Baseline& baseline, int devices) {
  const bool replicate = release.when_released() == v1alpha1::WhenReleased::Replicate;
  const auto counts = ReplicaCounts(model.micro_batches, devices);
  if (replicate && release.objective() == v1alpha1::ReleaseObjective::Time) {
    return ShortestShape(model, counts, devices);
  }
  const auto candidates = FittingCandidates(model, 1, devices / model.replicas);
  if (candidates.empty()) return std::nullopt;
  const Candidate& chosen = ChooseStages(candidates, model, release, baseline);
  if (!replicate) return Shape{chosen.partition, model.replicas};
  std::vector<int> wider = counts;
  std::erase_if(wider, [&](int count) { return count < model.replicas; });
  return ShortestShape(model, wider, devices, chosen.stages());
}

bool WorthRepartition(const CostModel& model, const Shape& from, const Shape& to, double min_gain) {
  if (to == from) return false;
  if (to.devices() < from.devices()) return true;
  // Even where no gain is asked for, moving layers must win something.
  const double before = StepSeconds(WithReplicas(model, from.replicas), from.partition);
  const double after = StepSeconds(WithReplicas(model, to.replicas), to.partition);
  return after < before && after <= before * (1 - min_gain) * (1 + kRounding);
}

}  // namespace freezepipe::planner
