#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::worker {

/// What one micro-batch's forward pass through a layer may depend on besides its input.
struct ForwardContext {
  /// False in evaluation and in frozen layers: batch-norm uses running statistics, dropout is off.
  bool training = true;
  /// The forward pass inside backward: batch-norm must not record its moments a second time.
  bool recompute = false;
  /// Index of the micro-batch in the global batch.
  int micro_batch = 0;
};

/// Batch-norm moments of one micro-batch, recorded in a training forward pass.
struct BatchMoments {
  int micro_batch = 0;
  /// Values a channel: batch x height x width.
  int64_t count = 0;
  /// Mean and biased variance by channel, [C].
  at::Tensor mean, variance;
};

/// The unit that a partitioner can cut between: one tensor in, one tensor out. Parameters and
/// buffers are those of torch::nn::Module and have stable names.
class Layer : public torch::nn::Module {
 public:
  virtual at::Tensor Forward(const at::Tensor& input, const ForwardContext& context) = 0;
};

/// The layers of a model, in order: names ("features.3"), and a way to make each one alone, so that
/// a stage holds only its own. Weights depend on (seed, layer) only.
class Model {
 public:
  virtual ~Model() = default;
  virtual int size() const = 0;
  virtual const std::string& name(int layer) const = 0;
  virtual std::shared_ptr<Layer> MakeLayer(int layer, uint64_t seed) const = 0;
  /// Images are better held channels-last.
  virtual bool convolutional() const = 0;
};

/// Shape of one sample and number of classes.
struct SampleShape {
  int64_t channels = 0, height = 0, width = 0;
  int classes = 0;
};

/// The network that `spec` names for samples of that shape. Throws std::invalid_argument with a
/// manifest path and what was expected.
std::unique_ptr<Model> MakeModel(const v1alpha1::ModelSpec& spec, const SampleShape& shape);

}  // namespace freezepipe::worker
