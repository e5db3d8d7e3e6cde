#include "tests/training/plain_loop.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>

#include <chrono>

#include "proto/activation_caching.h"
#include "proto/defaults.h"
#include "proto/freeze_timing.h"
#include "proto/learning_rate.h"
#include "worker/model/batch_norm.h"
#include "worker/model/seed.h"
#include "worker/pipeline/job_context.h"
#include "worker/pipeline/layer_optimizer.h"

namespace freezepipe::training {
namespace {

using worker::ForwardContext;
using worker::JobContext;

void Seed(const JobContext& job, int step, int layer, int micro_batch) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  generator.set_current_seed(
      worker::MixSeed(worker::SeedUse::kForward,
                      {job.seed(), static_cast<uint64_t>(step), static_cast<uint64_t>(layer),
                       static_cast<uint64_t>(micro_batch)}));
}

}  // namespace

PlainResult TrainPlainly(v1alpha1::FreezePipeJobSpec spec,
                         const std::vector<v1alpha1::FreezeLogEntry>& log) {
  at::set_num_threads(1);
  ApplyDefaults(&spec);
  const JobContext job(spec, at::kCPU);
  std::vector<std::shared_ptr<worker::Layer>> layers;
  std::vector<worker::LayerOptimizer> optimizers;
  for (int i = 0; i < job.model().size(); ++i) {
    layers.push_back(job.MakeLayer(i));
    worker::NamedTensors parameters;
    for (const auto& item : layers.back()->named_parameters()) {
      parameters.emplace_back(item.key(), item.value());
    }
    optimizers.emplace_back(spec.training().optimizer(), parameters);
  }

  PlainResult result;
  for (int step = 0; step < job.total_steps(); ++step) {
    const auto step_begin = std::chrono::steady_clock::now();
    const int boundary = BoundaryAt(log, step);
    for (int i = 0; i < boundary; ++i) {
      for (auto& parameter : layers[i]->parameters()) parameter.requires_grad_(false);
    }
    const auto samples = job.sampler().Batch(step);
    const auto sizes =
        worker::MicroBatchSizes(static_cast<int64_t>(samples.size()), job.micro_batches());
    double sum = 0;
    auto begin = samples.begin();
    for (int m = 0; m < job.micro_batches(); ++m) {
      if (sizes[m] == 0) continue;
      const std::vector<int64_t> part(begin, begin + sizes[m]);
      begin += sizes[m];
      auto value = job.ToInput(job.dataset().TrainImages(
          part, job.seed(),
          AugmentationEpoch(spec, boundary, step / job.sampler().steps_per_epoch())));
      for (int i = 0; i < job.model().size(); ++i) {
        Seed(job, step, i, m);
        value = layers[i]->Forward(
            value, {.training = i >= boundary, .recompute = false, .micro_batch = m});
      }
      const auto loss =
          at::cross_entropy_loss(value, job.dataset().TrainLabels(part), {}, at::Reduction::Sum) /
          static_cast<double>(samples.size());
      loss.backward();
      sum += loss.item<double>();
    }
    const double rate = LearningRateAt(spec.training(), step, job.total_steps());
    for (int i = 0; i < job.model().size(); ++i) {
      optimizers[i].Step(rate * CoolDownFactor(log, i, step));
    }
    for (const auto& layer : layers) {
      for (auto* norm : worker::BatchNormsOf(*layer)) norm->Commit(norm->TakeMoments());
    }
    result.losses[step + 1] = sum;
    result.step_seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - step_begin).count());
  }
  for (int i = 0; i < job.model().size(); ++i) {
    for (const auto& item : layers[i]->named_parameters()) {
      result.weights[job.model().name(i) + "." + item.key()] = item.value().detach();
    }
    for (const auto& item : layers[i]->named_buffers()) {
      result.weights[job.model().name(i) + "." + item.key()] = item.value();
    }
  }
  return result;
}

}  // namespace freezepipe::training
