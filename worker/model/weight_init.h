#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace freezepipe::worker {

/// Initial weights of one layer: a generator of its own, seeded from (seed, layer), so that they
/// depend neither on which other layers are built nor on the default generator.
class WeightInit {
 public:
  WeightInit(uint64_t seed, int layer);

  /// Uniform in [-1/sqrt(fan_in), 1/sqrt(fan_in)]: what PyTorch gives weights and biases of its
  /// convolutions and linear layers.
  at::Tensor FanIn(at::IntArrayRef shape, int64_t fan_in);
  at::Tensor Normal(at::IntArrayRef shape, double deviation);

 private:
  at::Generator generator_;
};

}  // namespace freezepipe::worker
