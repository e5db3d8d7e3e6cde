// Time of one placement, single thread: a pipeline on machines of eight devices whose boundary
// grew, so that half of its workers are given back.
#include <benchmark/benchmark.h>

#include "operator/planner/placement.h"

namespace freezepipe::planner {
namespace {

void PlaceHalf(benchmark::State& state) {
  const int workers = static_cast<int>(state.range(0));
  constexpr int kLayersEach = 4;
  CostModel model;
  std::vector<HeldWorker> held;
  for (int w = 0; w < workers; ++w) {
    held.push_back({w, "node" + std::to_string(w / 8), {}});
    for (int l = 0; l < kLayersEach; ++l) {
      held.back().layers.push_back(w * kLayersEach + l);
      v1alpha1::LayerProfile layer;
      layer.set_parameter_bytes(1000 + l);
      layer.set_optimizer_bytes(1000 + l);
      model.layers.push_back(layer);
    }
  }
  Partition partition;
  for (int s = 1; s <= workers / 2; ++s) partition.push_back(2 * s * kLayersEach);
  for (auto _ : state) {
    auto placed = Place(model, partition, 1, held);
    benchmark::DoNotOptimize(placed);
  }
}
BENCHMARK(PlaceHalf)->RangeMultiplier(4)->Range(4, 1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace freezepipe::planner
