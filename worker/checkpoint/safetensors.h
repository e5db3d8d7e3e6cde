#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace freezepipe::worker::safetensors {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// The format's name of a type: "F32". Throws std::runtime_error for types that it has no name for.
std::string TypeName(at::ScalarType type);

/// Where a tensor lies.
struct Entry {
  std::string name;
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> shape;
  /// Bytes [begin, end) behind the header.
  uint64_t begin = 0, end = 0;
};

/// What a file holds, in the order that its header names it.
struct Header {
  std::vector<Entry> entries;
  Metadata metadata;
  /// Bytes before the first tensor's.
  uint64_t size = 0;
};

/// Bytes before the JSON: its length, 64 bits little-endian.
constexpr uint64_t kPrefixSize = 8;

/// Length of the JSON behind the prefix. Throws std::runtime_error when a file of that size cannot
/// hold it.
uint64_t ParsePrefix(const char* prefix, uint64_t file_size);
/// Throws std::runtime_error saying what is wrong.
Header ParseHeader(const std::string& json, uint64_t file_size);

/// A file's bytes in order, as pieces: the header, then each tensor. The tensors are contiguous, on
/// the CPU.
struct Layout {
  std::string header;
  /// By falling size of their elements, so that each lies aligned.
  std::vector<at::Tensor> tensors;
  uint64_t file_size = 0;
};
Layout MakeLayout(const NamedTensors& tensors, const Metadata& metadata);

/// An open file: its header now, tensors one by one when asked for. Errors are std::runtime_error
/// naming the file.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path);

  const Header& header() const { return header_; }
  /// nullptr if there is no tensor of that name.
  const Entry* Find(const std::string& name) const;
  at::Tensor Read(const Entry& entry);

 private:
  std::filesystem::path path_;
  std::ifstream in_;
  Header header_;
};

}  // namespace freezepipe::worker::safetensors
