#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace freezepipe::worker {

/// Everything that one layer is at one step: parameters and buffers under their module names,
/// optimizer slots as "optimizer/<parameter>/<slot>", freeze statistics as "freeze/<name>". CPU
/// tensors, contiguous.
struct LayerState {
  std::string layer;
  /// Steps done.
  int step = 0;
  std::vector<std::pair<std::string, at::Tensor>> tensors;
};

/// One layer as the bytes of a safetensors file (metadata: layer, step, hash); what goes over the
/// wire and into a checkpoint. Shape [n], uint8.
at::Tensor Encode(const LayerState& state);

/// Throws std::runtime_error when the bytes are not such a file or the hash is wrong.
LayerState Decode(const at::Tensor& bytes);

/// XXH3 of names, types, shapes and bytes.
uint64_t Hash(const LayerState& state);

/// Encode's bytes in a file, written as WriteSafetensors does; read back and checked as Decode
/// does. Both throw std::runtime_error naming the file.
void WriteLayerState(const std::filesystem::path& path, const LayerState& state);
LayerState ReadLayerState(const std::filesystem::path& path);

/// Tensors by name of a safetensors file. Throws std::runtime_error naming the file.
std::vector<std::pair<std::string, at::Tensor>> ReadSafetensors(const std::filesystem::path& path);

/// Writes to a temporary file beside it, flushes to disk, renames. Throws std::runtime_error naming
/// the file.
void WriteSafetensors(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                      const std::vector<std::pair<std::string, std::string>>& metadata = {});

}  // namespace freezepipe::worker
