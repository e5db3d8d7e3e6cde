#include "worker/train/held_layers.h"

#include <stdexcept>

namespace freezepipe::worker {

void HeldLayers::Replace(Layers layers, int step) {
  const std::lock_guard lock(mutex_);
  for (const auto& [index, layer] : layers_) {
    if (!layers.contains(index)) retained_[index] = layer->Save(step_);
  }
  layers_ = std::move(layers);
  step_ = step;
  boundary_ = 0;
  left_ = false;
}

void HeldLayers::Advance(int step, int boundary) {
  const std::lock_guard lock(mutex_);
  step_ = step;
  boundary_ = boundary;
  changed_.notify_all();
}

void HeldLayers::DropRetained() {
  const std::lock_guard lock(mutex_);
  if (!left_) retained_.clear();
}

HeldLayers::Layers HeldLayers::layers() const {
  const std::lock_guard lock(mutex_);
  return layers_;
}

int HeldLayers::step() const {
  const std::lock_guard lock(mutex_);
  return step_;
}

std::vector<v1alpha1::LayerCopy> HeldLayers::Holdings() const {
  const std::lock_guard lock(mutex_);
  std::map<int, v1alpha1::LayerCopy> copies;
  for (const auto& [index, state] : retained_) copies[index].add_steps(state.step);
  for (const auto& [index, layer] : layers_) copies[index].add_steps(step_);
  std::vector<v1alpha1::LayerCopy> holdings;
  for (auto& [index, copy] : copies) {
    copy.set_layer(index);
    holdings.push_back(copy);
  }
  return holdings;
}

LayerState HeldLayers::Copy(int layer, int step) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = layers_.find(layer); found != layers_.end() && step_ == step) {
    return found->second->Save(step);
  }
  if (const auto found = retained_.find(layer);
      found != retained_.end() && found->second.step == step) {
    return found->second;
  }
  throw std::runtime_error("no copy of layer " + std::to_string(layer) + " at step " +
                           std::to_string(step));
}

LayerState HeldLayers::FrozenCopy(int layer) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return left_ || boundary_ > layer; });
  const auto found = layers_.find(layer);
  if (left_ || found == layers_.end()) {
    throw std::runtime_error("training was left before layer " + std::to_string(layer) +
                             " could be handed on");
  }
  const auto owned = found->second;
  const int step = step_;
  lock.unlock();
  return owned->Save(step);  // it doesn't change any more
}

void HeldLayers::Leave() {
  const std::lock_guard lock(mutex_);
  left_ = true;
  changed_.notify_all();
}

}  // namespace freezepipe::worker
