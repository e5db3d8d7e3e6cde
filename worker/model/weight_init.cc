#include "worker/model/weight_init.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

#include <cmath>

#include "worker/model/seed.h"

namespace freezepipe::worker {

WeightInit::WeightInit(uint64_t seed, int layer)
    : generator_(at::detail::createCPUGenerator(
          MixSeed(SeedUse::kWeights, {seed, static_cast<uint64_t>(layer)}))) {}

at::Tensor WeightInit::FanIn(at::IntArrayRef shape, int64_t fan_in) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return at::empty(shape, at::kFloat).uniform_(-bound, bound, generator_);
}

at::Tensor WeightInit::Normal(at::IntArrayRef shape, double deviation) {
  return at::empty(shape, at::kFloat).normal_(0.0, deviation, generator_);
}

}  // namespace freezepipe::worker
