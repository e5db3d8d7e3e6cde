#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.pb.h"

namespace freezepipe::coordinator {

/// A checkpoint of which every layer is on disk.
struct WrittenCheckpoint {
  int step = 0;
  std::vector<v1alpha1::FreezeLogEntry> freeze_log;
  double bytes = 0;
};

/// Counts which layers of which checkpoint are on disk.
class CheckpointLedger {
 public:
  explicit CheckpointLedger(int layers);

  /// Says so once, when the last layer of a step was written. Layers written under another freeze
  /// log than the step's others replace them: they come from a history that was restarted.
  std::optional<WrittenCheckpoint> Add(const v1alpha1::CheckpointWritten& written);

  /// Forgets what is not complete after this step: it will be written again.
  void Rewind(int step);

  std::optional<int> newest() const { return newest_; }

  /// There is a complete checkpoint of this step.
  void SetNewest(int step) { newest_ = step; }

 private:
  struct Partial {
    std::set<int> layers;
    std::vector<v1alpha1::FreezeLogEntry> freeze_log;
    double bytes = 0;
  };

  int layers_;
  std::optional<int> newest_;
  std::map<int, Partial> partial_;
};

}  // namespace freezepipe::coordinator
