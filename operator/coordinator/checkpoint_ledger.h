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

/// Counts which layers of which checkpoint are on disk, and knows the complete ones.
class CheckpointLedger {
 public:
  /// `keep`: so many complete checkpoints stay on disk.
  CheckpointLedger(int layers, int keep);

  /// How many layers make a checkpoint whole, where that wasn't known yet.
  void SetLayers(int layers) { layers_ = layers; }

  /// Says so once, when the last layer of a step was written: it is complete when AddComplete says
  /// so. Layers written under another freeze log than the step's others replace them: they come
  /// from a history that was restarted.
  std::optional<WrittenCheckpoint> Add(const v1alpha1::CheckpointWritten& written);

  /// Forgets what is not complete after this step: it will be written again.
  void Rewind(int step);

  /// Every layer of this step's checkpoint, or of a later one's, is on disk.
  bool IsWritten(int step) const;

  /// Step of the newest complete checkpoint.
  std::optional<int> newest() const;

  /// There is a complete checkpoint of this step.
  void AddComplete(int step);

  /// It will not be complete, though every layer was written.
  void GiveUp(int step) { written_.erase(step); }

  /// The checkpoint of this step can't be read: the one before it is the newest then.
  void Drop(int step) { complete_.erase(step); }

 private:
  struct Partial {
    std::set<int> layers;
    std::vector<v1alpha1::FreezeLogEntry> freeze_log;
    double bytes = 0;
  };

  int layers_;
  size_t keep_;
  std::set<int> complete_;
  /// Every layer is on disk, and no more.
  std::set<int> written_;
  std::map<int, Partial> partial_;
};

}  // namespace freezepipe::coordinator
