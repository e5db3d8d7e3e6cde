#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "worker/checkpoint/layer_state.h"
#include "worker/train/layer_transfer.h"
#include "worker/transport/generation.h"

namespace freezepipe::worker {

/// A generation to come, made ready by a thread of its own: groups formed; layers fetched that can
/// be fetched now (live: the frozen ones, which don't change; at a stand-still: all that come from
/// peers or a checkpoint).
class Preparation {
 public:
  struct Means {
    int worker = 0;
    BackendFactory* control = nullptr;
    BackendFactory* device = nullptr;
    std::string checkpoints;
    /// State of a layer that this worker holds at the order's step; live: waits until the layer is
    /// frozen here.
    std::function<LayerState(int layer)> held;
    std::function<void()> prepared;
    /// `damaged_checkpoint`: its step, where that is what failed.
    std::function<void(const std::string& error, std::optional<int> damaged_checkpoint)> failed;
  };

  static std::shared_ptr<Preparation> Begin(const v1alpha1::Prepare& order, Means means);

  const v1alpha1::Prepare& order() const { return order_; }
  int number() const { return order_.plan().generation(); }
  bool ready() const { return ready_; }
  /// It is not wanted any more. The thread ends by itself, at the latest when its waits time out.
  void Abandon();

  // Once ready:
  std::shared_ptr<Generation> TakeGeneration() { return std::move(generation_); }
  std::map<int, LayerState>& fetched() { return fetched_; }
  int64_t bytes_fetched() const { return bytes_fetched_; }
  /// Moves by transfer rank, of layers that could be fetched early (live: frozen) or could not.
  std::vector<LayerMove> Moves(const Generation& generation, bool early) const;

 private:
  Preparation(const v1alpha1::Prepare& order, Means means)
      : order_(order), means_(std::move(means)) {}
  void Run();

  const v1alpha1::Prepare order_;
  const Means means_;
  std::atomic<bool> ready_ = false, abandoned_ = false;
  std::mutex mutex_;  // guards generation_ against Abandon
  std::shared_ptr<Generation> generation_;
  std::map<int, LayerState> fetched_;
  int64_t bytes_fetched_ = 0;
};

}  // namespace freezepipe::worker
