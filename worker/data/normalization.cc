#include "worker/data/normalization.h"

#include <cmath>
#include <string>

#include "worker/model/spec_error.h"

namespace freezepipe::worker {

Normalization::Normalization(const std::vector<double>& mean, const std::vector<double>& deviation)
    : mean_(mean), deviation_(deviation), tables_(mean.size()) {
  for (size_t c = 0; c < mean.size(); ++c) {
    for (int pixel = 0; pixel < 256; ++pixel) {
      tables_[c][pixel] = static_cast<float>((pixel / 255.0 - mean[c]) / deviation[c]);
    }
  }
}

Normalization Normalization::Of(const at::Tensor& images) {
  const int64_t channels = images.size(1), pixels = images.size(2) * images.size(3);
  std::vector<std::array<int64_t, 256>> histograms(static_cast<size_t>(channels));
  const uint8_t* from = images.const_data_ptr<uint8_t>();
  for (int64_t n = 0; n < images.size(0); ++n) {
    for (auto& histogram : histograms) {
      for (int64_t i = 0; i < pixels; ++i) ++histogram[*from++];
    }
  }
  std::vector<double> mean, deviation;
  const auto count = static_cast<double>(images.size(0) * pixels);
  for (const auto& histogram : histograms) {
    double sum = 0, squares = 0;
    for (int v = 0; v < 256; ++v) sum += v / 255.0 * static_cast<double>(histogram[v]);
    mean.push_back(sum / count);
    for (int v = 0; v < 256; ++v) {
      const double off = v / 255.0 - mean.back();
      squares += off * off * static_cast<double>(histogram[v]);
    }
    const double value = std::sqrt(squares / count);
    deviation.push_back(value > 1e-6 ? value : 1.0);
  }
  return {mean, deviation};
}

Normalization Normalization::From(const v1alpha1::DatasetSpec& spec, const at::Tensor& images) {
  if (spec.mean().empty() && spec.std().empty()) return Of(images);
  const auto check = [&images](const char* field, int count) {
    if (count == images.size(1)) return;
    throw SpecError(std::string("spec.dataset.") + field,
                    "expected one number for each of the " + std::to_string(images.size(1)) +
                        " channels, got " + std::to_string(count));
  };
  check("mean", spec.mean_size());
  check("std", spec.std_size());
  return {{spec.mean().begin(), spec.mean().end()}, {spec.std().begin(), spec.std().end()}};
}

}  // namespace freezepipe::worker
