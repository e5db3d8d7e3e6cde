#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "worker/checkpoint/layer_state.h"

namespace freezepipe::worker {

/// State of a layer in a complete checkpoint. Throws std::runtime_error naming the file when it is
/// missing, damaged or of another step.
LayerState ReadCheckpointLayer(const std::filesystem::path& checkpoints, int step, int layer);

/// What is wrong with the first layer of a complete checkpoint whose file is missing, damaged or
/// another layer's or step's, naming the file; empty if all are as checkpoint.json says.
std::string DamageOf(const std::filesystem::path& checkpoint);

/// Writes layers of a checkpoint beside training, one checkpoint at a time; its destructor waits
/// for the write under way.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(std::filesystem::path checkpoints);
  /// Bytes written, or an error that names the file.
  using Done = std::function<void(int64_t bytes, const std::string& error)>;
  struct Item {
    int layer = 0;
    LayerState state;
  };
  /// Waits for the write before it, then returns at once; `done` comes from another thread.
  void Write(int step, std::vector<Item> layers, Done done);
  void Wait() const;
  /// False if a write is still under way then.
  bool WaitFor(std::chrono::milliseconds limit) const;

 private:
  const std::filesystem::path checkpoints_;
  std::future<void> write_;
};

/// Merges a complete checkpoint's weights (parameters and buffers) into one safetensors file with
/// tensors "<layer>.<name>". Throws std::runtime_error naming the file.
void ExportWeights(const std::filesystem::path& checkpoint, const std::filesystem::path& output);

}  // namespace freezepipe::worker
