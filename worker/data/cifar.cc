#include "worker/data/cifar.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

namespace freezepipe::worker {
namespace {

constexpr int64_t kPixels = 3 * 32 * 32;

[[noreturn]] void Fail(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

std::string ReadFile(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) Fail(file, "missing or not readable");
  std::string bytes(static_cast<size_t>(in.tellg()), '\0');
  in.seekg(0);
  if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) Fail(file, "read failed");
  return bytes;
}

ImageSet ReadOne(const std::filesystem::path& file, const CifarLayout& layout) {
  const std::string bytes = ReadFile(file);
  const int64_t record = layout.label_bytes + kPixels;
  const auto size = static_cast<int64_t>(bytes.size());
  if (size == 0) Fail(file, "empty");
  if (size % record != 0) {
    Fail(file, "truncated: " + std::to_string(size) + " bytes are not a multiple of the " +
                   std::to_string(record) + " bytes of one image");
  }
  const int64_t count = size / record;
  ImageSet set{.images = at::empty({count, 3, 32, 32}, at::kByte),
               .labels = at::empty({count}, at::kLong)};
  auto* images = set.images.mutable_data_ptr<uint8_t>();
  auto* labels = set.labels.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    const char* from = bytes.data() + i * record;
    labels[i] = static_cast<uint8_t>(from[layout.label_bytes - 1]);
    if (labels[i] >= layout.classes) {
      Fail(file, "label " + std::to_string(labels[i]) + " of image " + std::to_string(i) +
                     " is out of range: expected 0 to " + std::to_string(layout.classes - 1));
    }
    std::memcpy(images + i * kPixels, from + layout.label_bytes, kPixels);
  }
  return set;
}

}  // namespace

ImageSet ReadCifar(const std::vector<std::filesystem::path>& files, const CifarLayout& layout) {
  std::vector<at::Tensor> images, labels;
  for (const auto& file : files) {
    ImageSet one = ReadOne(file, layout);
    images.push_back(one.images);
    labels.push_back(one.labels);
  }
  return {.images = at::cat(images), .labels = at::cat(labels)};
}

}  // namespace freezepipe::worker
