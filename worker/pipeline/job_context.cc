#include "worker/pipeline/job_context.h"

#include "proto/activation_caching.h"
#include "proto/freeze_timing.h"

namespace freezepipe::worker {

JobContext::JobContext(v1alpha1::FreezePipeJobSpec spec, at::Device device)
    : spec_(std::move(spec)),
      device_(device),
      dataset_(OpenDataset(spec_.dataset())),
      model_(MakeModel(spec_.model(), dataset_->shape())),
      sampler_(dataset_->train_size(), spec_.training().batch_size(), spec_.training().seed()),
      views_(Views(spec_)) {}

int JobContext::window_steps() const {
  return WindowSteps(spec_.freeze(), sampler_.steps_per_epoch());
}

at::ScalarType JobContext::weight_type() const {
  return spec_.training().precision() == v1alpha1::Precision::Float64 ? at::kDouble : at::kFloat;
}

bool JobContext::channels_last() const {
  switch (spec_.training().memory_format()) {
    case v1alpha1::MemoryFormat::ChannelsLast:
      return true;
    case v1alpha1::MemoryFormat::Contiguous:
      return false;
    default:
      return model_->convolutional();
  }
}

at::Tensor JobContext::ToInput(const at::Tensor& images) const {
  return images.to(device_, weight_type())
      .contiguous(channels_last() ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

std::shared_ptr<Layer> JobContext::MakeLayer(int layer) const {
  auto module = model_->MakeLayer(layer, seed());
  module->to(device_, weight_type());
  if (channels_last()) {
    for (auto& parameter : module->parameters()) {
      if (parameter.dim() == 4) {
        parameter.set_data(parameter.detach().contiguous(at::MemoryFormat::ChannelsLast));
      }
    }
  }
  return module;
}

}  // namespace freezepipe::worker
