#include "worker/checkpoint/checkpoint_files.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <stdexcept>

#include "files/checkpoint_layout.h"
#include "worker/checkpoint/or_throw.h"

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;

std::string LayerFile(int layer) { return absl::StrFormat("layer-%04d.safetensors", layer); }

LayerState ReadLayerAt(const fs::path& path, int step) {
  LayerState state = ReadLayerState(path);
  if (state.step == step) return state;
  throw std::runtime_error(path.string() + ": is of step " + std::to_string(state.step) + ", not " +
                           std::to_string(step));
}

}  // namespace

LayerState ReadCheckpointLayer(const fs::path& checkpoints, int step, int layer) {
  return ReadLayerAt(files::CheckpointFolder(checkpoints, step) / LayerFile(layer), step);
}

std::string DamageOf(const fs::path& checkpoint) {
  try {
    const auto index = OrThrow(files::ReadCheckpointIndex(checkpoint));
    for (int layer = 0; layer < index.layers_size(); ++layer) {
      const fs::path path = checkpoint / LayerFile(layer);
      const LayerState state = ReadLayerAt(path, index.step());
      if (state.layer != index.layers(layer)) {
        return path.string() + ": holds layer " + state.layer + ", not " + index.layers(layer);
      }
    }
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

CheckpointWriter::CheckpointWriter(fs::path checkpoints) : checkpoints_(std::move(checkpoints)) {}

void CheckpointWriter::Wait() const {
  if (write_.valid()) write_.wait();
}

bool CheckpointWriter::WaitFor(std::chrono::milliseconds limit) const {
  return !write_.valid() || write_.wait_for(limit) == std::future_status::ready;
}

void CheckpointWriter::Write(int step, std::vector<Item> layers, Done done) {
  Wait();
  const auto write = [folder = files::PartialFolder(checkpoints_, step), layers = std::move(layers),
                      done = std::move(done)] {
    int64_t bytes = 0;
    try {
      fs::create_directories(folder);
      for (const auto& item : layers) {
        const auto path = folder / LayerFile(item.layer);
        WriteLayerState(path, item.state);
        bytes += static_cast<int64_t>(fs::file_size(path));
      }
    } catch (const std::exception& error) {
      done(bytes, error.what());
      return;
    }
    done(bytes, "");
  };
  write_ = std::async(std::launch::async, write);
}

void ExportWeights(const fs::path& checkpoint, const fs::path& output) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(checkpoint, error)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  if (error || files.empty()) {
    throw std::runtime_error(checkpoint.string() + ": not a checkpoint folder");
  }
  std::sort(files.begin(), files.end());
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const auto& file : files) {
    const auto state = ReadLayerState(file);
    for (const auto& [name, tensor] : state.tensors) {
      if (name.starts_with("optimizer/") || name.starts_with("freeze/")) continue;
      tensors.emplace_back(state.layer + "." + name, tensor);
    }
  }
  WriteSafetensors(output, tensors);
}

}  // namespace freezepipe::worker
