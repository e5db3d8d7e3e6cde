#include "worker/checkpoint/checkpoint_files.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "worker/checkpoint/durable_file.h"

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;

std::string Padded(const char* format, int number) {
  char text[32];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

std::string StepFolder(int step) { return Padded("step-%08d", step); }
std::string LayerFile(int layer) { return Padded("layer-%04d.safetensors", layer); }

}  // namespace

LayerState ReadCheckpointLayer(const fs::path& checkpoints, int step, int layer) {
  return ReadLayerState(checkpoints / StepFolder(step) / LayerFile(layer));
}

CheckpointWriter::CheckpointWriter(fs::path checkpoints) : checkpoints_(std::move(checkpoints)) {}

CheckpointWriter::~CheckpointWriter() { Wait(); }

void CheckpointWriter::Wait() {
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::Write(int step, std::vector<Item> layers, Done done) {
  Wait();
  thread_ = std::jthread([folder = checkpoints_ / (StepFolder(step) + ".partial"),
                          layers = std::move(layers), done = std::move(done)] {
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
  });
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
