#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "worker/checkpoint/layer_state.h"
#include "worker/pipeline/owned_layer.h"

namespace freezepipe::worker {

/// The layers in this worker's memory: those that it trains, all after the same number of steps,
/// and copies of those that it handed on, kept until they are retired. Thread-safe; only the
/// training thread changes layers.
class HeldLayers {
 public:
  using Layers = std::map<int, std::shared_ptr<OwnedLayer>>;

  /// What is trained from now on, at `step`; layers that were trained and are not any more are kept
  /// as copies.
  void Replace(Layers layers, int step);
  /// A step was done with layers [0, boundary) frozen.
  void Advance(int step, int boundary);
  /// Not at a stand-still, where copies may be what training goes on from.
  void DropRetained();

  Layers layers() const;
  int step() const;
  std::vector<v1alpha1::LayerCopy> Holdings() const;

  /// A layer's state after `step` steps. Throws std::runtime_error if it isn't held.
  LayerState Copy(int layer, int step) const;
  /// A layer's state once a step has been done with it frozen; throws when `Leave` is called first.
  LayerState FrozenCopy(int layer) const;
  /// Training was left; ends the waits of FrozenCopy until the next Replace.
  void Leave();

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Layers layers_;
  int step_ = 0;
  int boundary_ = 0;
  bool left_ = true;
  std::map<int, LayerState> retained_;
};

}  // namespace freezepipe::worker
