// What comes after the backward passes of a step: the optimizers' update of all layers (against
// LibTorch's own optimizers, an operation at a time), and at a window's end the freeze statistics.
// VGG-11 with batch norm at width 0.25, as in the other benchmarks; one thread.
#include <ATen/Parallel.h>
#include <ATen/ops/randn_like.h>
#include <benchmark/benchmark.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "worker/freeze/layer_statistics.h"
#include "worker/model/layer.h"
#include "worker/pipeline/layer_optimizer.h"

namespace freezepipe::worker {
namespace {

std::vector<std::shared_ptr<Layer>> Network() {
  at::set_num_threads(1);
  v1alpha1::ModelSpec spec;
  spec.mutable_zoo()->set_name(v1alpha1::ZooModel::vgg11_bn);
  spec.mutable_zoo()->set_width_multiplier(0.25);
  const auto model = MakeModel(spec, {.channels = 3, .height = 32, .width = 32, .classes = 10});
  std::vector<std::shared_ptr<Layer>> layers;
  for (int i = 0; i < model->size(); ++i) layers.push_back(model->MakeLayer(i, 1));
  return layers;
}

v1alpha1::OptimizerSpec Spec(v1alpha1::Optimizer::Type type) {
  v1alpha1::OptimizerSpec spec;
  spec.set_type(type);
  spec.set_learning_rate(0.01);
  spec.set_momentum(0.9);
  spec.set_weight_decay(5e-4);
  spec.set_beta1(0.9);
  spec.set_beta2(0.999);
  spec.set_epsilon(1e-8);
  return spec;
}

/// Gradients are not in the time.
void SetGradients(benchmark::State& state, const std::vector<at::Tensor>& parameters) {
  state.PauseTiming();
  for (const auto& parameter : parameters) parameter.mutable_grad() = at::randn_like(parameter);
  state.ResumeTiming();
}

void Update(benchmark::State& state, v1alpha1::Optimizer::Type type) {
  std::vector<LayerOptimizer> optimizers;
  std::vector<at::Tensor> parameters;
  for (const auto& layer : Network()) {
    NamedTensors named;
    for (const auto& item : layer->named_parameters()) {
      named.emplace_back(item.key(), item.value());
      parameters.push_back(item.value());
    }
    optimizers.emplace_back(Spec(type), named);
  }
  for (auto _ : state) {
    SetGradients(state, parameters);
    for (auto& optimizer : optimizers) optimizer.Step(0.01);
  }
}

template <typename Optimizer, typename Options>
void PlainUpdate(benchmark::State& state, Options options) {
  std::vector<at::Tensor> parameters;
  for (const auto& layer : Network()) {
    for (const auto& parameter : layer->parameters()) parameters.push_back(parameter);
  }
  Optimizer optimizer(parameters, options);
  for (auto _ : state) {
    SetGradients(state, parameters);
    optimizer.step();
    optimizer.zero_grad();
  }
}

void Statistics(benchmark::State& state, v1alpha1::FreezeMetric::Type metric) {
  std::vector<LayerStatistics> statistics;
  for (const auto& layer : Network()) {
    statistics.emplace_back(metric, layer->parameters());
    for (const auto& parameter : layer->parameters()) {
      parameter.mutable_grad() = at::randn_like(parameter);
    }
  }
  for (auto _ : state) {
    for (auto& one : statistics) {
      one.ObserveGradients();
      benchmark::DoNotOptimize(one.EndWindow());
    }
  }
}

const bool kRegistered = [] {
  const auto add = [](const char* name, auto function, auto argument) {
    benchmark::RegisterBenchmark(name, function, argument)->Unit(benchmark::kMicrosecond);
  };
  add("SGD", Update, v1alpha1::Optimizer::SGD);
  add("SGD, torch::optim", PlainUpdate<torch::optim::SGD, torch::optim::SGDOptions>,
      torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(5e-4));
  add("AdamW", Update, v1alpha1::Optimizer::AdamW);
  add("AdamW, torch::optim", PlainUpdate<torch::optim::AdamW, torch::optim::AdamWOptions>,
      torch::optim::AdamWOptions(0.01).weight_decay(5e-4));
  add("freeze statistics, a window, EffectivePerturbation", Statistics,
      v1alpha1::FreezeMetric::EffectivePerturbation);
  add("freeze statistics, a step and a window, NormChange", Statistics,
      v1alpha1::FreezeMetric::NormChange);
  return true;
}();

}  // namespace
}  // namespace freezepipe::worker
