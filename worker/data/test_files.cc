#include "worker/data/test_files.h"

#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace freezepipe::worker {
namespace {

void AppendBigEndian(std::string& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
}

std::vector<int> CountingLabels(int samples) {
  std::vector<int> labels;
  for (int s = 0; s < samples; ++s) labels.push_back(s % 10);
  return labels;
}

}  // namespace

void WriteFile(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  if (!out.flush()) throw std::runtime_error(path.string() + ": cannot be written");
}

void WriteGzip(const std::filesystem::path& path, const std::string& bytes) {
  gzFile out = gzopen(path.c_str(), "wb");
  if (out == nullptr) throw std::runtime_error(path.string() + ": cannot be written");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
}

uint8_t TestPixel(int64_t sample, int64_t i) {
  return static_cast<uint8_t>((sample * 31 + i * 7 + i / 5) % 251);
}

std::string CifarRecords(const std::vector<int>& labels, int64_t first_sample, bool coarse_label) {
  std::string bytes;
  for (size_t s = 0; s < labels.size(); ++s) {
    if (coarse_label) bytes += '\x05';
    bytes += static_cast<char>(labels[s]);
    for (int i = 0; i < 3 * 32 * 32; ++i) {
      bytes += static_cast<char>(TestPixel(first_sample + static_cast<int64_t>(s), i));
    }
  }
  return bytes;
}

void WriteCifar10(const std::filesystem::path& folder, int samples) {
  for (int batch = 0; batch < 5; ++batch) {
    WriteFile(folder / ("data_batch_" + std::to_string(batch + 1) + ".bin"),
              CifarRecords(CountingLabels(samples), int64_t{batch} * samples));
  }
  WriteFile(folder / "test_batch.bin", CifarRecords(CountingLabels(samples), 1000));
}

std::string IdxImages(int count, int height, int width) {
  std::string bytes;
  AppendBigEndian(bytes, 0x803);
  for (const int extent : {count, height, width}) {
    AppendBigEndian(bytes, static_cast<uint32_t>(extent));
  }
  for (int s = 0; s < count; ++s) {
    for (int i = 0; i < height * width; ++i) bytes += static_cast<char>(TestPixel(s, i));
  }
  return bytes;
}

std::string IdxLabels(const std::vector<int>& labels) {
  std::string bytes;
  AppendBigEndian(bytes, 0x801);
  AppendBigEndian(bytes, static_cast<uint32_t>(labels.size()));
  for (const int label : labels) bytes += static_cast<char>(label);
  return bytes;
}

void WriteMnist(const std::filesystem::path& folder, int samples, bool gzip) {
  for (const std::string part : {"train", "t10k"}) {
    const std::pair<std::string, std::string> files[] = {
        {part + "-images-idx3-ubyte", IdxImages(samples, 28, 28)},
        {part + "-labels-idx1-ubyte", IdxLabels(CountingLabels(samples))}};
    for (const auto& [name, bytes] : files) {
      gzip ? WriteGzip(folder / (name + ".gz"), bytes) : WriteFile(folder / name, bytes);
    }
  }
}

}  // namespace freezepipe::worker
