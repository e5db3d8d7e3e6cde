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

CheckpointLedger::CheckpointLedger(int layers, int keep) : layers_(layers), keep_(keep) {}

std::optional<WrittenCheckpoint> CheckpointLedger::Add(const v1alpha1::CheckpointWritten& written) {
  const int step = written.step();
  if (newest() && step <= *newest()) return std::nullopt;
  if (!written_.empty() && step <= *written_.rbegin()) return std::nullopt;

  const std::vector<v1alpha1::FreezeLogEntry> log(written.freeze_log().begin(),
                                                  written.freeze_log().end());
  Partial& partial = partial_[step];
  if (!partial.layers.empty() && !SameLog(partial.freeze_log, log)) partial = {};
  partial.freeze_log = log;
  const size_t known = partial.layers.size();
  partial.layers.insert(written.layers().begin(), written.layers().end());
  // Else it was said before.
  if (partial.layers.size() > known) partial.bytes += static_cast<double>(written.bytes());
  if (static_cast<int>(partial.layers.size()) < layers_) return std::nullopt;

  WrittenCheckpoint done{.step = step, .freeze_log = log, .bytes = partial.bytes};
  written_.insert(step);
  partial_.erase(partial_.begin(), partial_.upper_bound(step));
  return done;
}

bool CheckpointLedger::IsWritten(int step) const {
  return newest().value_or(0) >= step || (!written_.empty() && *written_.rbegin() >= step);
}

std::optional<int> CheckpointLedger::newest() const {
  if (complete_.empty()) return std::nullopt;
  return *complete_.rbegin();
}

void CheckpointLedger::AddComplete(int step) {
  written_.erase(step);
  complete_.insert(step);
  if (complete_.size() > keep_) complete_.erase(complete_.begin());
}

void CheckpointLedger::Rewind(int step) {
  partial_.erase(partial_.upper_bound(step), partial_.end());
}

}  // namespace freezepipe::coordinator
