#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>

#include "worker/model/weight_init.h"

namespace freezepipe::worker {

/// Convolution of images with a square kernel; parameters "weight" and, if it has one, "bias".
class Conv2d : public torch::nn::Module {
 public:
  struct Options {
    int64_t kernel = 3, stride = 1, padding = 1;
    bool bias = false;
  };
  Conv2d(WeightInit& init, int64_t inputs, int64_t outputs, Options options);

  at::Tensor Forward(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_;
  int64_t stride_, padding_;
};

/// Parameters "weight" and "bias".
class Linear : public torch::nn::Module {
 public:
  Linear(WeightInit& init, int64_t inputs, int64_t outputs);
  /// Weights from a normal distribution of that deviation, bias 0.
  Linear(WeightInit& init, int64_t inputs, int64_t outputs, double deviation);

  at::Tensor Forward(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_;
};

/// Normalises the last dimension; parameters "weight" and "bias".
class LayerNorm : public torch::nn::Module {
 public:
  explicit LayerNorm(int64_t features, double epsilon = 1e-6);

  at::Tensor Forward(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_;
  double epsilon_;
};

}  // namespace freezepipe::worker
