#include "worker/data/idx.h"

#include <ATen/ops/empty.h>
#include <zlib.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace freezepipe::worker {
namespace {

constexpr uint32_t kLabelsMagic = 0x00000801;
constexpr uint32_t kImagesMagic = 0x00000803;
constexpr int64_t kLargestExtent = 4096;

[[noreturn]] void Fail(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

/// The first that exists of the names such a file goes by.
std::filesystem::path Find(const std::filesystem::path& folder, const std::string& stem,
                           const std::string& idx) {
  for (const char* separator : {"-", "."}) {
    for (const char* ending : {"", ".gz"}) {
      auto file = folder / (stem + separator + idx + ending);
      if (std::filesystem::exists(file)) return file;
    }
  }
  Fail(folder / (stem + "-" + idx), "missing (nor is there a .gz of it)");
}

/// zlib reads plain files, too.
std::vector<uint8_t> ReadAll(const std::filesystem::path& file) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
  if (!in) Fail(file, "not readable");
  std::vector<uint8_t> bytes;
  constexpr size_t kChunk = 1 << 20;
  for (;;) {
    const size_t before = bytes.size();
    bytes.resize(before + kChunk);
    const int got = gzread(in.get(), bytes.data() + before, kChunk);
    bytes.resize(before + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < static_cast<int>(kChunk)) break;
  }
  int error = Z_OK;
  const char* message = gzerror(in.get(), &error);
  if (error == Z_BUF_ERROR) Fail(file, "truncated");
  if (error != Z_OK && error != Z_STREAM_END) Fail(file, std::string("damaged: ") + message);
  return bytes;
}

uint32_t BigEndian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

/// Sizes of the dimensions; checks that the file is as long as they say.
std::vector<int64_t> ReadHeader(const std::filesystem::path& file,
                                const std::vector<uint8_t>& bytes, uint32_t magic) {
  const size_t dimensions = magic & 0xff;
  const size_t header = 4 * (dimensions + 1);
  if (bytes.empty()) Fail(file, "empty");
  if (bytes.size() >= 4 && BigEndian(bytes.data()) != magic) {
    Fail(file, "wrong magic number: not an IDX file of " + std::to_string(dimensions) +
                   " dimensions of bytes");
  }
  if (bytes.size() < header) Fail(file, "truncated: shorter than its header");
  std::vector<int64_t> sizes;
  __extension__ unsigned __int128 expected = 1;
  for (size_t i = 1; i <= dimensions; ++i) {
    sizes.push_back(BigEndian(bytes.data() + 4 * i));
    expected *= static_cast<uint64_t>(sizes.back());
  }
  if (sizes[0] == 0) Fail(file, "empty: holds no samples");
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > kLargestExtent) {
      Fail(file, "image extent " + std::to_string(sizes[i]) + " is out of range: expected 1 to " +
                     std::to_string(kLargestExtent));
    }
  }
  if (bytes.size() - header < expected) {
    Fail(file, "truncated: its header promises " + std::to_string(sizes[0]) + " samples");
  }
  if (bytes.size() - header > expected) Fail(file, "longer than its header says");
  return sizes;
}

}  // namespace

ImageSet ReadIdx(const std::filesystem::path& folder, const std::string& part, int classes) {
  const auto images_file = Find(folder, part + "-images", "idx3-ubyte");
  const auto labels_file = Find(folder, part + "-labels", "idx1-ubyte");
  const std::vector<uint8_t> images = ReadAll(images_file);
  const std::vector<int64_t> shape = ReadHeader(images_file, images, kImagesMagic);
  const std::vector<uint8_t> labels = ReadAll(labels_file);
  const int64_t count = ReadHeader(labels_file, labels, kLabelsMagic)[0];
  if (count != shape[0]) {
    Fail(labels_file, std::to_string(count) + " labels for the " + std::to_string(shape[0]) +
                          " images of " + images_file.filename().string());
  }
  ImageSet set{.images = at::empty({count, 1, shape[1], shape[2]}, at::kByte),
               .labels = at::empty({count}, at::kLong)};
  const size_t pixels = static_cast<size_t>(set.images.numel());
  std::memcpy(set.images.mutable_data_ptr<uint8_t>(), images.data() + images.size() - pixels,
              pixels);
  auto* to = set.labels.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    to[i] = labels[labels.size() - static_cast<size_t>(count - i)];
    if (to[i] >= classes) {
      Fail(labels_file, "label " + std::to_string(to[i]) + " of image " + std::to_string(i) +
                            " is out of range: expected 0 to " + std::to_string(classes - 1));
    }
  }
  return set;
}

}  // namespace freezepipe::worker
