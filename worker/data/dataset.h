#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "worker/model/layer.h"

namespace freezepipe::worker {

/// Image classification data in memory: uint8 images and labels, training and test.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const SampleShape& shape() const = 0;
  virtual int64_t train_size() const = 0;
  virtual int64_t test_size() const = 0;
  /// Images [n, C, H, W] in float32, normalised, and augmented by (seed, epoch, sample).
  virtual at::Tensor TrainImages(const std::vector<int64_t>& samples, uint64_t seed,
                                 int epoch) const = 0;
  /// Labels [n], int64.
  virtual at::Tensor TrainLabels(const std::vector<int64_t>& samples) const = 0;
  /// Samples [begin, end) of the test set.
  virtual at::Tensor TestImages(int64_t begin, int64_t end) const = 0;
  virtual at::Tensor TestLabels(int64_t begin, int64_t end) const = 0;
};

/// Reads the files that `spec` names. Throws std::runtime_error naming the file and what is wrong
/// with it (missing, truncated, label out of range), or std::invalid_argument with a manifest path.
std::unique_ptr<Dataset> OpenDataset(const v1alpha1::DatasetSpec& spec);

}  // namespace freezepipe::worker
