// Time of one exact partition, single thread: 1,000 layers into 64 stages, which must stay well
// under 10 ms of CPU time. The cases span what makes the search hard: transfers from free to ten
// times the work, few and many micro-batches, memory limits. Beyond it is only the corner where
// neither side of the trade decides: transfers ten times the work, with a sixteenth as many
// micro-batches as stages.
#include <benchmark/benchmark.h>

#include <random>

#include "operator/planner/partitioner.h"

namespace freezepipe::planner {
namespace {

constexpr int kLayers = 1000;
constexpr int kStages = 64;

/// Layers of 1 to 10 ms whose outputs take up to `transfer_share` of that to send.
CostModel RandomModel(uint32_t seed, int micro_batches, double transfer_share) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> seconds(1e-3, 1e-2);
  std::uniform_real_distribution<double> share(0, transfer_share);
  CostModel model;
  for (int i = 0; i < kLayers; ++i) {
    v1alpha1::LayerProfile layer;
    layer.set_forward_seconds(seconds(random) / 3);
    layer.set_backward_seconds(2 * layer.forward_seconds());
    layer.set_output_bytes(static_cast<int64_t>(share(random) * 1e-2 * model.bytes_per_second));
    layer.set_parameter_bytes(1 << 20);
    layer.set_optimizer_bytes(1 << 20);
    layer.set_saved_bytes(1 << 18);
    model.layers.push_back(layer);
  }
  model.micro_batches = micro_batches;
  return model;
}

void Partition1000Into64(benchmark::State& state, CostModel model) {
  for (auto _ : state) {
    auto partition = PartitionInto(model, kStages);
    if (!partition) state.SkipWithError("no partition");
    benchmark::DoNotOptimize(partition);
  }
}

void Register(const std::string& name, const CostModel& model) {
  benchmark::RegisterBenchmark(("1000_layers_64_stages/" + name).c_str(), Partition1000Into64,
                               model)
      ->Unit(benchmark::kMillisecond);
}

const bool kRegistered = [] {
  for (const double transfer_share : {0.0, 0.01, 0.1, 1.0, 10.0}) {
    for (const int micro_batches : {1, 2, 4, 16, 64, 256}) {
      char name[80];
      std::snprintf(name, sizeof(name), "transfer:%g/micro_batches:%d", transfer_share,
                    micro_batches);
      Register(name, RandomModel(1, micro_batches, transfer_share));
    }
  }
  CostModel limited = RandomModel(1, 64, 0.1);
  limited.schedule = v1alpha1::PipelineSchedule::OneForwardOneBackward;
  limited.memory_bytes = 400e6;
  Register("memory limit, 1F1B", limited);
  CostModel frozen = RandomModel(1, 64, 0.1);
  frozen.boundary = 600;
  frozen.frozen_work = FrozenWork::kCached;
  Register("600 layers frozen and cached", frozen);
  return true;
}();

}  // namespace
}  // namespace freezepipe::planner
