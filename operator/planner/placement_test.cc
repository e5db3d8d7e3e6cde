#include "operator/planner/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "operator/planner/test_models.h"

namespace freezepipe::planner {
namespace {

using ::testing::ElementsAre;

using Workers = std::vector<std::vector<int>>;

CostModel ModelWithBytes(const std::vector<int>& parameter_bytes, int boundary = 0) {
  CostModel model;
  for (int bytes : parameter_bytes) model.layers.push_back(Layer(1, 0, bytes));
  model.boundary = boundary;
  return model;
}

int64_t BytesMoved(const CostModel& model, const Partition& partition, const Workers& workers,
                   const std::vector<HeldWorker>& held) {
  int64_t bytes = 0;
  int first = 0;
  for (size_t s = 0; s < partition.size(); ++s) {
    for (int worker : workers[s]) {
      const auto it = std::find_if(held.begin(), held.end(),
                                   [&](const HeldWorker& h) { return h.worker == worker; });
      for (int layer = first; layer < partition[s]; ++layer) {
        if (std::count(it->layers.begin(), it->layers.end(), layer)) continue;
        const auto& profile = model.layers[layer];
        bytes += profile.parameter_bytes();
        if (layer >= model.boundary) bytes += profile.optimizer_bytes();
      }
    }
    first = partition[s];
  }
  return bytes;
}

/// Neighbouring stages on one node, and nodes left empty.
std::pair<int, int> Neatness(const Workers& workers, const std::vector<HeldWorker>& held) {
  std::map<int, std::string> node;
  std::set<std::string> all;
  std::set<std::string> used;
  for (const auto& h : held) all.insert(node[h.worker] = h.node);
  int neighbours = 0;
  for (size_t s = 0; s < workers.size(); ++s) {
    for (size_t r = 0; r < workers[s].size(); ++r) {
      used.insert(node[workers[s][r]]);
      if (s > 0 && node[workers[s - 1][r]] == node[workers[s][r]]) ++neighbours;
    }
  }
  return {neighbours, static_cast<int>(all.size() - used.size())};
}

TEST(PlacementTest, FreshWorkersAreTakenInOrder) {
  const CostModel model = ModelWithBytes({1, 1, 1, 1});
  const std::vector<HeldWorker> held = {{0, "a", {}}, {1, "a", {}}, {2, "a", {}}};
  EXPECT_THAT(Place(model, {2, 4}, 1, held), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(PlacementTest, StagesStayWithWhoHoldsMostOfThem) {
  // Worker 2 holds layers 0 and 1, worker 0 holds 2, worker 1 holds 3: two stages are left.
  const CostModel model = ModelWithBytes({10, 10, 30, 5});
  const std::vector<HeldWorker> held = {{0, "a", {2}}, {1, "a", {3}}, {2, "a", {0, 1}}};
  EXPECT_THAT(Place(model, {2, 4}, 1, held), ElementsAre(ElementsAre(2), ElementsAre(0)));
}

TEST(PlacementTest, TheSecondBestMayBeBestTogether) {
  // Worker 0 would save most on stage 0 and on stage 1; giving it stage 1 saves 9 + 10, stage 0
  // only 12.
  const CostModel model = ModelWithBytes({9, 3, 10});
  const std::vector<HeldWorker> held = {{0, "a", {0, 1, 2}}, {1, "a", {0}}};
  EXPECT_THAT(Place(model, {2, 3}, 1, held), ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TEST(PlacementTest, OptimizerSlotsOfFrozenLayersDoNotCount) {
  // Layer 0: 10 of parameters. Layer 1: 6, and as much of optimizer slots. One worker holds each.
  const std::vector<HeldWorker> held = {{0, "a", {0}}, {1, "a", {1}}};
  EXPECT_THAT(Place(ModelWithBytes({10, 6}, /*boundary=*/0), {2}, 1, held),
              ElementsAre(ElementsAre(0)));
  EXPECT_THAT(Place(ModelWithBytes({10, 6}, /*boundary=*/1), {2}, 1, held),
              ElementsAre(ElementsAre(1)));
}

TEST(PlacementTest, FreshPipelinesStayWithinTheirNodes) {
  const CostModel model = ModelWithBytes({1, 1});
  const std::vector<HeldWorker> held = {{0, "b", {}}, {1, "a", {}}, {2, "b", {}}, {3, "a", {}}};
  EXPECT_THAT(Place(model, {1, 2}, 2, held), ElementsAre(ElementsAre(1, 0), ElementsAre(3, 2)));
}

TEST(PlacementTest, ReleasedWorkersEmptyANode) {
  // Either of the workers that hold nothing could take stage 1; the one beside worker 0 lets node b
  // go.
  const CostModel model = ModelWithBytes({4, 4});
  const std::vector<HeldWorker> held = {{0, "a", {0}}, {1, "b", {}}, {2, "a", {}}};
  EXPECT_THAT(Place(model, {1, 2}, 1, held), ElementsAre(ElementsAre(0), ElementsAre(2)));
}

TEST(PlacementTest, BytesComeBeforeNodes) {
  const CostModel model = ModelWithBytes({4, 4});
  const std::vector<HeldWorker> held = {{0, "a", {0}}, {1, "b", {1}}, {2, "a", {}}};
  EXPECT_THAT(Place(model, {1, 2}, 1, held), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(PlacementTest, AgreesWithBruteForce) {
  std::mt19937 random(1);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  constexpr int kCases = 1000;
  for (int i = 0; i < kCases; ++i) {
    const int layers = draw(1, 6);
    CostModel model;
    for (int l = 0; l < layers; ++l) model.layers.push_back(Layer(1, 0, draw(0, 8)));
    model.boundary = draw(0, layers - 1);
    Partition partition;
    for (int l = 1; l < layers && partition.size() < 3; ++l) {
      if (draw(0, 1)) partition.push_back(l);
    }
    partition.push_back(layers);
    const int stages = static_cast<int>(partition.size());
    const int replicas = stages <= 2 ? draw(1, 2) : 1;
    std::vector<HeldWorker> held(std::min(6, stages * replicas + draw(0, 3)));
    for (size_t w = 0; w < held.size(); ++w) {
      held[w].worker = static_cast<int>(w);
      held[w].node = std::string(1, static_cast<char>('a' + draw(0, 2)));
      for (int l = 0; l < layers; ++l) {
        if (draw(0, 2) == 0) held[w].layers.push_back(l);
      }
    }

    int64_t fewest = std::numeric_limits<int64_t>::max();
    std::pair<int, int> neatest;
    std::vector<int> order(held.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      Workers workers(stages);
      for (int p = 0; p < stages * replicas; ++p) workers[p % stages].push_back(order[p]);
      const int64_t bytes = BytesMoved(model, partition, workers, held);
      const auto neatness = Neatness(workers, held);
      if (bytes < fewest || (bytes == fewest && neatness > neatest)) {
        fewest = bytes;
        neatest = neatness;
      }
    } while (std::next_permutation(order.begin(), order.end()));

    const Workers placed = Place(model, partition, replicas, held);
    std::set<int> distinct;
    for (const auto& stage : placed) {
      ASSERT_EQ(stage.size(), static_cast<size_t>(replicas));
      distinct.insert(stage.begin(), stage.end());
    }
    ASSERT_EQ(distinct.size(), static_cast<size_t>(stages * replicas));
    ASSERT_EQ(BytesMoved(model, partition, placed, held), fewest) << "case " << i;
    ASSERT_EQ(Neatness(placed, held), neatest) << "case " << i;
  }
}

TEST(PlacementTest, ManyWorkersGatherOnNodes) {
  // 16 workers on 4 nodes, interleaved; the four stages are left with one worker of each node, and
  // layers are free to go anywhere.
  const CostModel model = ModelWithBytes({0, 0, 0, 0});
  std::vector<HeldWorker> held;
  for (int w = 0; w < 16; ++w) {
    held.push_back({w, std::string(1, static_cast<char>('a' + w % 4)), {}});
    if (w < 4) held.back().layers = {w};
  }
  const auto placed = Place(model, {1, 2, 3, 4}, 1, held);
  EXPECT_EQ(Neatness(placed, held), std::make_pair(3, 3));
}

TEST(PlacementTest, ManyWorkersMoveTheFewestBytesAndEmptyANode) {
  // Worker 2 w holds layer w; its node also has the idle worker 2 w + 1. Two stages of four layers:
  // each stays with a worker that holds its largest layer, 2 and 5.
  const CostModel model = ModelWithBytes({1, 1, 9, 1, 1, 9, 1, 1});
  std::vector<HeldWorker> held;
  for (int w = 0; w < 16; ++w) {
    held.push_back({w, "node" + std::to_string(w / 2), {}});
    if (w % 2 == 0) held.back().layers = {w / 2};
  }
  EXPECT_THAT(Place(model, {4, 8}, 1, held), ElementsAre(ElementsAre(4), ElementsAre(10)));
}

}  // namespace
}  // namespace freezepipe::planner
