#include "worker/train/profile.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "worker/pipeline/owned_layer.h"
#include "worker/pipeline/stage.h"

namespace freezepipe::worker {
namespace {

constexpr int kWarmUps = 2;
constexpr int kPasses = 7;
/// Enough for a layer so slow that its passes differ little.
constexpr std::chrono::seconds kEnough{2};

/// Counts the bytes allocated and not given back while it is in force.
class Allocations : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
    held_ += bytes;
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t held() const { return held_; }

 private:
  int64_t held_ = 0;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double Now(at::Device device) {
  if (!device.is_cpu()) {
    c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Medians of one layer's passes.
struct PassTimes {
  double forward = 0;
  double backward = 0;
  int64_t saved_bytes = 0;
};

/// With the layers before `boundary` frozen: at the layer's own index it computes no gradient of
/// its input.
PassTimes TimePasses(const JobContext& job, const std::shared_ptr<OwnedLayer>& layer, int boundary,
                     const at::Tensor& input, at::Tensor* output) {
  Stage stage(job, {layer});
  PassTimes times;
  std::vector<double> forward, backward;
  const auto begin = std::chrono::steady_clock::now();
  for (int pass = 0; pass < kWarmUps + kPasses; ++pass) {
    if (pass > kWarmUps && std::chrono::steady_clock::now() - begin > kEnough) break;
    stage.BeginStep(0, boundary, 0);
    const auto counter = std::make_shared<Allocations>();
    const double start = Now(job.device());
    {
      const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, counter);
      *output = stage.Forward(0, {.load = [&] { return input; }, .cache_keys = {}});
    }
    const double middle = Now(job.device());
    const auto gradient = at::ones_like(*output);
    const double resumed = Now(job.device());
    stage.Backward(0, gradient);
    const double end = Now(job.device());
    for (auto& parameter : layer->parameters()) parameter.mutable_grad().reset();
    times.saved_bytes = std::max<int64_t>(counter->held(), 0);
    if (pass < kWarmUps) continue;
    forward.push_back(middle - start);
    backward.push_back(end - resumed);
  }
  times.forward = Median(forward);
  times.backward = Median(backward);
  return times;
}

v1alpha1::LayerProfile ProfileLayer(const JobContext& job, int index, const at::Tensor& input,
                                    at::Tensor* output) {
  const auto layer = std::make_shared<OwnedLayer>(job, index, nullptr);
  const PassTimes inner = TimePasses(job, layer, /*boundary=*/0, input, output);
  const PassTimes first =
      index == 0 ? inner : TimePasses(job, layer, /*boundary=*/index, input, output);
  v1alpha1::LayerProfile profile;
  profile.set_name(layer->name());
  profile.set_forward_seconds(inner.forward);
  profile.set_backward_seconds(inner.backward);
  profile.set_first_active_backward_seconds(first.backward);
  profile.set_saved_bytes(inner.saved_bytes);
  profile.set_output_bytes(static_cast<int64_t>(output->nbytes()));
  int64_t bytes = 0;
  for (const auto& parameter : layer->parameters()) {
    bytes += static_cast<int64_t>(parameter.nbytes());
  }
  profile.set_parameter_bytes(bytes);
  const auto& optimizer = job.spec().training().optimizer();
  const int slots = optimizer.type() == v1alpha1::Optimizer::AdamW ? 2 : optimizer.momentum() > 0;
  profile.set_optimizer_bytes(slots * bytes);
  return profile;
}

}  // namespace

v1alpha1::ModelProfile ProfileModel(const JobContext& job) {
  const int64_t batch =
      std::min<int64_t>(job.spec().training().batch_size(), job.dataset().train_size());
  const auto sizes = MicroBatchSizes(batch, job.micro_batches());
  std::vector<int64_t> samples(sizes.front());
  std::iota(samples.begin(), samples.end(), 0);
  v1alpha1::ModelProfile profile;
  profile.set_micro_batch_size(static_cast<int>(samples.size()));
  profile.set_device(job.device().str());
  profile.set_train_samples(job.dataset().train_size());
  profile.set_test_samples(job.dataset().test_size());
  at::Tensor value = job.ToInput(job.dataset().TrainImages(samples, job.seed(), 0));
  for (int i = 0; i < job.model().size(); ++i) {
    at::Tensor output;
    *profile.add_layers() = ProfileLayer(job, i, value, &output);
    value = output;
  }
  return profile;
}

}  // namespace freezepipe::worker
