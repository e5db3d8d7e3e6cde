#include "worker/data/dataset.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <string>

#include "worker/data/augmentation.h"
#include "worker/data/cifar.h"
#include "worker/data/idx.h"
#include "worker/data/image_set.h"
#include "worker/data/normalization.h"
#include "worker/model/spec_error.h"

namespace freezepipe::worker {
namespace {

using v1alpha1::DatasetFormat;

struct Files {
  ImageSet train, test;
  int classes = 0;
};

Files ReadFiles(const v1alpha1::DatasetSpec& spec) {
  const std::filesystem::path folder = spec.path();
  if (!std::filesystem::is_directory(folder)) {
    throw std::runtime_error(folder.string() + ": no such folder");
  }
  switch (spec.format()) {
    case DatasetFormat::Cifar10: {
      std::vector<std::filesystem::path> train;
      for (int i = 1; i <= 5; ++i) {
        train.push_back(folder / ("data_batch_" + std::to_string(i) + ".bin"));
      }
      const CifarLayout layout{.label_bytes = 1, .classes = 10};
      return {ReadCifar(train, layout), ReadCifar({folder / "test_batch.bin"}, layout), 10};
    }
    case DatasetFormat::Cifar100: {
      const CifarLayout layout{.label_bytes = 2, .classes = 100};
      return {ReadCifar({folder / "train.bin"}, layout), ReadCifar({folder / "test.bin"}, layout),
              100};
    }
    case DatasetFormat::Mnist:
      return {ReadIdx(folder, "train", 10), ReadIdx(folder, "t10k", 10), 10};
    default:
      throw SpecError("spec.dataset.format", "no format number " + std::to_string(spec.format()));
  }
}

/// New number of each class of the files; -1 for classes that are left out.
std::vector<int64_t> ClassNumbers(const v1alpha1::DatasetSpec& spec, int classes) {
  std::vector<int64_t> numbers(static_cast<size_t>(classes), -1);
  if (spec.classes().empty()) {
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
  for (int i = 0; i < spec.classes_size(); ++i) {
    const std::string path = "spec.dataset.classes[" + std::to_string(i) + "]";
    const int kept = spec.classes(i);
    if (kept < 0 || kept >= classes) {
      throw SpecError(path, std::to_string(kept) +
                                " is not a class of the data set: expected 0 to " +
                                std::to_string(classes - 1));
    }
    if (numbers[kept] >= 0) throw SpecError(path, std::to_string(kept) + " is given twice");
    numbers[kept] = i;
  }
  return numbers;
}

/// The samples of the classes in use, at most `limit` of them (0: all), renumbered.
ImageSet Select(const ImageSet& set, const std::vector<int64_t>& numbers, int limit,
                const std::string& what) {
  const int64_t* labels = set.labels.const_data_ptr<int64_t>();
  std::vector<int64_t> samples, kept_labels;
  for (int64_t i = 0; i < set.labels.size(0); ++i) {
    if (limit > 0 && static_cast<int>(samples.size()) == limit) break;
    const int64_t number = numbers[labels[i]];
    if (number < 0) continue;
    samples.push_back(i);
    kept_labels.push_back(number);
  }
  if (samples.empty()) throw std::runtime_error(what + ": no sample of the classes in use");
  if (static_cast<int64_t>(samples.size()) == set.labels.size(0)) {
    return {.images = set.images, .labels = at::tensor(kept_labels, at::kLong)};
  }
  return {.images = at::index_select(set.images, 0, at::tensor(samples, at::kLong)),
          .labels = at::tensor(kept_labels, at::kLong)};
}

class MemoryDataset : public Dataset {
 public:
  MemoryDataset(const v1alpha1::DatasetSpec& spec, ImageSet train, ImageSet test, int classes)
      : train_(std::move(train)),
        test_(std::move(test)),
        normalization_(Normalization::From(spec, train_.images)),
        augmentation_(spec.augmentation()),
        shape_{.channels = train_.images.size(1),
               .height = train_.images.size(2),
               .width = train_.images.size(3),
               .classes = classes} {}

  const SampleShape& shape() const override { return shape_; }
  int64_t train_size() const override { return train_.labels.size(0); }
  int64_t test_size() const override { return test_.labels.size(0); }

  at::Tensor TrainImages(const std::vector<int64_t>& samples, uint64_t seed,
                         int epoch) const override {
    at::Tensor output = Empty(static_cast<int64_t>(samples.size()));
    float* to = output.mutable_data_ptr<float>();
    for (const int64_t sample : samples) {
      CheckSample(sample);
      CopyImage(train_, sample, DrawAugmentation(augmentation_, seed, epoch, sample), to);
      to += ImageSize();
    }
    return output;
  }

  at::Tensor TrainLabels(const std::vector<int64_t>& samples) const override {
    at::Tensor output = at::empty({static_cast<int64_t>(samples.size())}, at::kLong);
    auto* to = output.mutable_data_ptr<int64_t>();
    const int64_t* labels = train_.labels.const_data_ptr<int64_t>();
    for (const int64_t sample : samples) {
      CheckSample(sample);
      *to++ = labels[sample];
    }
    return output;
  }

  at::Tensor TestImages(int64_t begin, int64_t end) const override {
    CheckTestRange(begin, end);
    at::Tensor output = Empty(end - begin);
    float* to = output.mutable_data_ptr<float>();
    for (int64_t sample = begin; sample < end; ++sample, to += ImageSize()) {
      CopyImage(test_, sample, {}, to);
    }
    return output;
  }

  at::Tensor TestLabels(int64_t begin, int64_t end) const override {
    CheckTestRange(begin, end);
    return test_.labels.slice(0, begin, end).clone();
  }

 private:
  int64_t ImageSize() const { return shape_.channels * shape_.height * shape_.width; }

  at::Tensor Empty(int64_t count) const {
    return at::empty({count, shape_.channels, shape_.height, shape_.width}, at::kFloat);
  }

  void CheckSample(int64_t sample) const {
    if (sample < 0 || sample >= train_size()) {
      throw std::out_of_range("training sample " + std::to_string(sample));
    }
  }

  void CheckTestRange(int64_t begin, int64_t end) const {
    if (begin < 0 || begin > end || end > test_size()) {
      throw std::out_of_range("test samples " + std::to_string(begin) + " to " +
                              std::to_string(end));
    }
  }

  void CopyImage(const ImageSet& set, int64_t sample, const Augmentation& augmentation,
                 float* to) const {
    const int64_t pixels = shape_.height * shape_.width;
    const uint8_t* from = set.images.const_data_ptr<uint8_t>() + sample * ImageSize();
    for (int64_t c = 0; c < shape_.channels; ++c, from += pixels, to += pixels) {
      ApplyAugmentation(augmentation, from, normalization_.table(c).data(), shape_.height,
                        shape_.width, to);
    }
  }

  ImageSet train_, test_;
  Normalization normalization_;
  v1alpha1::AugmentationSpec augmentation_;
  SampleShape shape_;
};

}  // namespace

std::unique_ptr<Dataset> OpenDataset(const v1alpha1::DatasetSpec& spec) {
  Files files = ReadFiles(spec);
  if (files.train.images.sizes().slice(1) != files.test.images.sizes().slice(1)) {
    throw std::runtime_error(spec.path() + ": training and test images differ in size");
  }
  const std::vector<int64_t> numbers = ClassNumbers(spec, files.classes);
  const int classes = spec.classes().empty() ? files.classes : spec.classes_size();
  return std::make_unique<MemoryDataset>(
      spec, Select(files.train, numbers, spec.limit().train(), spec.path() + ": training set"),
      Select(files.test, numbers, spec.limit().test(), spec.path() + ": test set"), classes);
}

}  // namespace freezepipe::worker
