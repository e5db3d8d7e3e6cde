#include "worker/data/sampler.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randperm.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "worker/model/seed.h"

namespace freezepipe::worker {

Sampler::Sampler(int64_t samples, int batch_size, uint64_t seed)
    : samples_(samples), batch_size_(batch_size), seed_(seed) {
  if (samples < 1 || batch_size < 1) {
    throw std::invalid_argument("a sampler needs at least one sample and a batch size of 1: " +
                                std::to_string(samples) + ", " + std::to_string(batch_size));
  }
}

int Sampler::steps_per_epoch() const {
  return static_cast<int>((samples_ + batch_size_ - 1) / batch_size_);
}

std::vector<int64_t> Sampler::Batch(int step) const {
  const int epoch = step / steps_per_epoch();
  if (epoch != epoch_) {
    const at::Generator generator = at::detail::createCPUGenerator(
        MixSeed(SeedUse::kOrder, {seed_, static_cast<uint64_t>(epoch)}));
    const at::Tensor order = at::randperm(samples_, generator, at::kLong);
    const int64_t* first = order.const_data_ptr<int64_t>();
    permutation_.assign(first, first + samples_);
    epoch_ = epoch;
  }
  const int64_t begin = int64_t{step % steps_per_epoch()} * batch_size_;
  const int64_t end = std::min(samples_, begin + batch_size_);
  return {permutation_.begin() + begin, permutation_.begin() + end};
}

std::vector<int64_t> MicroBatchSizes(int64_t batch, int count) {
  std::vector<int64_t> sizes(static_cast<size_t>(count), batch / count);
  for (int64_t i = 0; i < batch % count; ++i) ++sizes[i];
  return sizes;
}

}  // namespace freezepipe::worker
