#include "worker/model/modules.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace freezepipe::worker {

Conv2d::Conv2d(WeightInit& init, int64_t inputs, int64_t outputs, Options options)
    : stride_(options.stride), padding_(options.padding) {
  const int64_t fan_in = inputs * options.kernel * options.kernel;
  weight_ = register_parameter(
      "weight", init.FanIn({outputs, inputs, options.kernel, options.kernel}, fan_in));
  if (options.bias) bias_ = register_parameter("bias", init.FanIn({outputs}, fan_in));
}

at::Tensor Conv2d::Forward(const at::Tensor& input) const {
  return at::conv2d(input, weight_, bias_, stride_, padding_);
}

Linear::Linear(WeightInit& init, int64_t inputs, int64_t outputs)
    : weight_(register_parameter("weight", init.FanIn({outputs, inputs}, inputs))),
      bias_(register_parameter("bias", init.FanIn({outputs}, inputs))) {}

Linear::Linear(WeightInit& init, int64_t inputs, int64_t outputs, double deviation)
    : weight_(register_parameter("weight", init.Normal({outputs, inputs}, deviation))),
      bias_(register_parameter("bias", at::zeros({outputs}))) {}

at::Tensor Linear::Forward(const at::Tensor& input) const {
  return at::linear(input, weight_, bias_);
}

LayerNorm::LayerNorm(int64_t features, double epsilon)
    : weight_(register_parameter("weight", at::ones({features}))),
      bias_(register_parameter("bias", at::zeros({features}))),
      epsilon_(epsilon) {}

at::Tensor LayerNorm::Forward(const at::Tensor& input) const {
  return at::layer_norm(input, {weight_.size(0)}, weight_, bias_, epsilon_);
}

}  // namespace freezepipe::worker
