#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "worker/data/dataset.h"
#include "worker/data/sampler.h"
#include "worker/model/layer.h"

namespace freezepipe::worker {

/// What a job is, the same for its whole life and on every worker.
class JobContext {
 public:
  /// Opens the data set. Throws what OpenDataset and MakeModel throw.
  JobContext(v1alpha1::FreezePipeJobSpec spec, at::Device device);

  const v1alpha1::FreezePipeJobSpec& spec() const { return spec_; }
  const Model& model() const { return *model_; }
  const Dataset& dataset() const { return *dataset_; }
  const Sampler& sampler() const { return sampler_; }
  at::Device device() const { return device_; }
  uint64_t seed() const { return spec_.training().seed(); }
  int micro_batches() const { return spec_.pipeline().micro_batches(); }
  int total_steps() const { return sampler_.steps_per_epoch() * spec_.training().epochs(); }
  int window_steps() const;
  at::ScalarType weight_type() const;
  bool channels_last() const;
  /// Images that become of a training sample once layers are frozen; 0: no end of them.
  int views() const { return views_; }
  /// Images as the first layer takes them.
  at::Tensor ToInput(const at::Tensor& images) const;
  /// A layer's module as it is trained: type, device and memory order.
  std::shared_ptr<Layer> MakeLayer(int layer) const;

 private:
  const v1alpha1::FreezePipeJobSpec spec_;
  const at::Device device_;
  const std::unique_ptr<Dataset> dataset_;
  const std::unique_ptr<Model> model_;
  const Sampler sampler_;
  const int views_;
};

}  // namespace freezepipe::worker
