#include "operator/coordinator/checkpoint_ledger.h"

#include <algorithm>

namespace freezepipe::coordinator {
namespace {

bool SameLog(const std::vector<v1alpha1::FreezeLogEntry>& a,
             const std::vector<v1alpha1::FreezeLogEntry>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.chosen_at() == y.chosen_at() && x.frozen_at() == y.frozen_at() &&
           x.boundary() == y.boundary();
  });
}

}  // namespace

CheckpointLedger::CheckpointLedger(int layers) : layers_(layers) {}

std::optional<WrittenCheckpoint> CheckpointLedger::Add(const v1alpha1::CheckpointWritten& written) {
  const int step = written.step();
  if (newest_ && step <= *newest_) return std::nullopt;

  const std::vector<v1alpha1::FreezeLogEntry> log(written.freeze_log().begin(),
                                                  written.freeze_log().end());
  Partial& partial = partial_[step];
  if (!partial.layers.empty() && !SameLog(partial.freeze_log, log)) partial = {};
  partial.freeze_log = log;
  partial.bytes += static_cast<double>(written.bytes());
  partial.layers.insert(written.layers().begin(), written.layers().end());
  if (static_cast<int>(partial.layers.size()) < layers_) return std::nullopt;

  WrittenCheckpoint done{.step = step, .freeze_log = log, .bytes = partial.bytes};
  newest_ = step;
  partial_.erase(partial_.begin(), partial_.upper_bound(step));
  return done;
}

void CheckpointLedger::Rewind(int step) {
  partial_.erase(partial_.upper_bound(step), partial_.end());
}

}  // namespace freezepipe::coordinator
