#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::worker {

/// From a pixel, 0 to 255, to (pixel / 255 - mean) / deviation, by channel.
class Normalization {
 public:
  Normalization(const std::vector<double>& mean, const std::vector<double>& deviation);
  /// With mean and deviation of these images, [n, C, H, W] in uint8. A channel of one value has
  /// deviation 1.
  static Normalization Of(const at::Tensor& images);
  /// What the manifest gives, else of these images. Throws SpecError if its numbers are not one a
  /// channel.
  static Normalization From(const v1alpha1::DatasetSpec& spec, const at::Tensor& images);

  /// Normalised value of each pixel value.
  const std::array<float, 256>& table(int64_t channel) const { return tables_[channel]; }
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& deviation() const { return deviation_; }

 private:
  std::vector<double> mean_, deviation_;
  std::vector<std::array<float, 256>> tables_;
};

}  // namespace freezepipe::worker
