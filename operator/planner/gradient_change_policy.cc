#include "operator/planner/gradient_change_policy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "operator/planner/freeze_settings.h"

namespace freezepipe::planner {
namespace {

/// A learning rate that falls this much from one window to the next has dropped.
constexpr double kDrop = 0.5;
/// Quotients that should be whole may come out this much below.
constexpr double kRounding = 1e-9;

/// |previous - current| / previous; infinite from 0 to more, 0 from 0 to 0, NaN where either is.
double RelativeChange(double previous, double current) {
  const double change = std::abs(previous - current);
  if (previous == 0 && change > 0) return std::numeric_limits<double>::infinity();
  return change == 0 ? 0 : change / previous;
}

/// With linear interpolation between the values around it.
double Percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  const double place = fraction * (values.size() - 1);
  const size_t below = static_cast<size_t>(place);
  if (below + 1 >= values.size()) return values.back();
  const double weight = place - below;
  return weight == 0 ? values[below] : (1 - weight) * values[below] + weight * values[below + 1];
}

/// One side of the brake: none below 0, then 1 growing to `most` at 1.
int Allowed(double progress, int most) {
  if (progress < -kRounding) return 0;
  return std::min(most, 1 + static_cast<int>(std::floor(most * progress + kRounding)));
}

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[160];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

}  // namespace

GradientChangePolicy::GradientChangePolicy(const v1alpha1::FreezeSpec& spec, const RunShape& shape)
    : rule_(ResolvePreset(spec)),
      shape_(shape),
      max_frozen_(MaxFrozen(spec, shape.layers)),
      windows_per_epoch_(shape.steps_per_epoch / WindowSteps(spec, shape.steps_per_epoch)) {}

std::optional<FreezeChoice> GradientChangePolicy::Decide(
    const std::vector<WindowStatistics>& windows,
    const std::vector<v1alpha1::FreezeLogEntry>& log) const {
  const int layer = ChosenLayers(log);
  const int newest = static_cast<int>(windows.size()) - 1;
  const int allowed = LayersAllowed(windows);
  if (layer >= allowed || newest + 1 < rule_.patience()) return std::nullopt;
  if (!WaitedSinceLastChoice(windows, log)) return std::nullopt;
  for (int w = newest; w > newest - rule_.patience(); --w) {
    if (!Counts(windows, w) || !Judge(windows, w, layer).low()) return std::nullopt;
  }
  const Verdict verdict = Judge(windows, newest, layer);
  const bool perturbation = rule_.metric() == v1alpha1::FreezeMetric::EffectivePerturbation;
  std::string why = Format("%s %.2f <= %.2f for %d windows", perturbation ? "P" : "norm change",
                           verdict.value, verdict.limit, rule_.patience());
  if (rule_.brake()) why += Format(", brake allows %d", allowed);
  return FreezeChoice{layer + 1, why};
}

GradientChangePolicy::Verdict GradientChangePolicy::Judge(const Windows& windows, int window,
                                                          int layer) const {
  const auto& values = windows[window].values;
  if (rule_.metric() == v1alpha1::FreezeMetric::EffectivePerturbation) {
    return {values[layer], rule_.threshold()};
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (window == 0) return {kNone, kNone};
  std::vector<double> changes;
  for (int u = layer; u < shape_.layers; ++u) {
    const double change = RelativeChange(windows[window - 1].values[u], values[u]);
    if (!std::isnan(change)) changes.push_back(change);
  }
  if (changes.empty()) return {kNone, kNone};
  return {RelativeChange(windows[window - 1].values[layer], values[layer]),
          std::min(Percentile(changes, rule_.threshold()), rule_.norm_change_floor())};
}

bool GradientChangePolicy::Counts(const Windows& windows, int window) const {
  if (windows[window].step <= shape_.steps_per_epoch) return false;
  if (window == 0) return true;
  const double before = windows[window - 1].learning_rate;
  const double now = windows[window].learning_rate;
  // Warming up, or just dropped: updates are not comparable with those before.
  const bool rose = now > before * (1 + kRounding);
  const bool dropped = before > 0 && now <= before * kDrop;
  return !rose && !dropped;
}

bool GradientChangePolicy::WaitedSinceLastChoice(
    const Windows& windows, const std::vector<v1alpha1::FreezeLogEntry>& log) const {
  if (log.empty()) return true;
  int last_choice = 0;
  for (const auto& entry : log) last_choice = std::max(last_choice, entry.chosen_at());
  const auto since = std::count_if(windows.begin(), windows.end(),
                                   [&](const auto& w) { return w.step > last_choice; });
  return since >= rule_.min_windows_between_choices();
}

double GradientChangePolicy::LossQuotient(const Windows& windows) const {
  const int count = std::min(windows_per_epoch_, static_cast<int>(windows.size()));
  double sum = 0;
  for (auto it = windows.end() - count; it != windows.end(); ++it) sum += it->loss;
  return sum / count / std::log(std::max(2, shape_.classes));
}

/// Of the progress of the run and of the loss the stricter one decides.
int GradientChangePolicy::LayersAllowed(const Windows& windows) const {
  if (windows.empty()) return 0;
  if (!rule_.brake()) return max_frozen_;
  const double progress = static_cast<double>(windows.back().step) / shape_.total_steps;
  const double by_progress = (progress - rule_.brake_start()) / rule_.brake_span();
  const double by_loss = (rule_.brake_loss() - LossQuotient(windows)) / rule_.brake_loss_span();
  return std::min(Allowed(by_progress, max_frozen_), Allowed(by_loss, max_frozen_));
}

}  // namespace freezepipe::planner
