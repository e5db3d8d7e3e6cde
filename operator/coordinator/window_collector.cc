#include "operator/coordinator/window_collector.h"

#include <algorithm>
#include <limits>

namespace freezepipe::coordinator {

WindowCollector::WindowCollector(int layers) : layers_(layers) {}

std::optional<WholeWindow> WindowCollector::Add(const v1alpha1::WindowReport& report, int stages) {
  if (report.step() <= last_step_) return std::nullopt;
  auto& reports = open_[{report.step(), report.generation()}];
  reports[report.stage()] = report;
  if (static_cast<int>(reports.size()) < stages) return std::nullopt;

  WholeWindow whole;
  auto& window = whole.statistics;
  window.step = report.step();
  window.values.assign(layers_, std::numeric_limits<double>::quiet_NaN());
  for (const auto& [stage, part] : reports) {
    if (part.has_loss()) window.loss = part.loss();
    whole.times.seconds = std::max(whole.times.seconds, part.seconds());
    whole.times.busy_seconds.push_back(part.forward_seconds() + part.backward_seconds());
    if (part.has_cached_share()) {
      whole.cached_share = std::min(whole.cached_share.value_or(1), part.cached_share());
    }
    for (const auto& statistic : part.statistics()) {
      if (statistic.layer() >= 0 && statistic.layer() < layers_) {
        window.values[statistic.layer()] = statistic.value();
      }
    }
  }
  last_step_ = window.step;
  open_.erase(open_.begin(), open_.upper_bound({window.step, std::numeric_limits<int>::max()}));
  return whole;
}

bool WindowCollector::IsNews(const v1alpha1::WindowReport& report) const {
  if (report.step() <= last_step_) return false;
  const auto found = open_.find({report.step(), report.generation()});
  return found == open_.end() || !found->second.contains(report.stage());
}

void WindowCollector::Rewind(int step) {
  last_step_ = std::min(last_step_, step);
  open_.clear();
}

}  // namespace freezepipe::coordinator
