#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "files/test_folder.h"

namespace freezepipe::worker {

using files::TestFolder;

void WriteFile(const std::filesystem::path& path, const std::string& bytes);
void WriteGzip(const std::filesystem::path& path, const std::string& bytes);

/// Pixel i (counted over channels, rows, columns) of sample s in the files below.
uint8_t TestPixel(int64_t sample, int64_t i);

/// One CIFAR record a label, with pixels of TestPixel from `first_sample`; `coarse_label` for
/// CIFAR-100.
std::string CifarRecords(const std::vector<int>& labels, int64_t first_sample = 0,
                         bool coarse_label = false);
/// data_batch_1.bin to 5 and test_batch.bin of `samples` images each; label of sample s: s mod 10.
void WriteCifar10(const std::filesystem::path& folder, int samples);

std::string IdxImages(int count, int height, int width);
std::string IdxLabels(const std::vector<int>& labels);
/// Training and test files of `samples` 28 x 28 images each; label of sample s: s mod 10.
void WriteMnist(const std::filesystem::path& folder, int samples, bool gzip);

}  // namespace freezepipe::worker
