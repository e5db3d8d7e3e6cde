#include "operator/planner/partitioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "operator/planner/test_models.h"

namespace freezepipe::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

/// What the header promises, by trying every split, from the public cost model alone.
class BruteForce {
 public:
  BruteForce(const CostModel& model, int stages) : model_(model), stages_(stages) {}

  std::optional<Partition> Run() {
    Extend();
    return best_;
  }

 private:
  void Extend() {
    const int layers = static_cast<int>(model_.layers.size());
    const int stage = static_cast<int>(partition_.size());
    const int first = partition_.empty() ? 0 : partition_.back();
    if (stage == stages_) {
      if (first == layers) Judge();
      return;
    }
    for (int end = first + 1; end <= layers; ++end) {
      if (model_.memory_bytes > 0 &&
          StageBytes(model_, first, end, stage, stages_) > model_.memory_bytes) {
        break;
      }
      partition_.push_back(end);
      Extend();
      partition_.pop_back();
    }
  }

  void Judge() {
    const double step = StepSeconds(model_, partition_);
    double longest = 0;
    int first = 0;
    for (int end : partition_) {
      longest = std::max(longest, StageSeconds(model_, first, end));
      first = end;
    }
    // Splits come in ascending order, so of equals the latest one cuts later layers first.
    if (!best_ || step < step_ || (step == step_ && longest <= longest_)) {
      best_ = partition_;
      step_ = step;
      longest_ = longest;
    }
  }

  const CostModel& model_;
  const int stages_;
  Partition partition_;
  std::optional<Partition> best_;
  double step_ = 0;
  double longest_ = 0;
};

/// A small case in whole numbers, so that sums are exact and ties are real ones.
struct RandomCase {
  CostModel model;
  int stages = 1;

  explicit RandomCase(std::mt19937& random) {
    const auto draw = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    const int layers = draw(1, 10);
    const int largest_time = draw(0, 1) ? 3 : 40;
    const int largest_output = draw(0, 2) * draw(0, 20);
    for (int i = 0; i < layers; ++i) {
      v1alpha1::LayerProfile layer;
      layer.set_forward_seconds(draw(0, largest_time));
      layer.set_backward_seconds(draw(0, 2 * largest_time));
      layer.set_output_bytes(draw(0, largest_output));
      layer.set_saved_bytes(draw(0, 10));
      layer.set_parameter_bytes(draw(0, 30));
      layer.set_optimizer_bytes(draw(0, 30));
      model.layers.push_back(layer);
    }
    model.bytes_per_second = 1;
    model.boundary = draw(0, 1) * draw(0, layers - 1);
    model.frozen_work = draw(0, 1) ? FrozenWork::kCached : FrozenWork::kForward;
    // Powers of two keep ExceptLast's (M - 1) / M exact.
    model.micro_batches = 1 << draw(0, 4);
    model.recompute = static_cast<v1alpha1::Recompute::Mode>(draw(0, 2));
    model.schedule = static_cast<v1alpha1::PipelineSchedule::Type>(draw(0, 1));
    if (draw(0, 2) == 0) model.memory_bytes = draw(40, 400);
    stages = draw(1, std::min(layers + 1, 6));
  }
};

TEST(PartitionerTest, AgreesWithBruteForce) {
  std::mt19937 random(1);
  int impossible = 0;
  int frozen = 0;
  int limited = 0;
  constexpr int kCases = 20000;
  for (int i = 0; i < kCases; ++i) {
    const RandomCase c(random);
    const auto expected = BruteForce(c.model, c.stages).Run();
    ASSERT_EQ(PartitionInto(c.model, c.stages), expected) << "case " << i;
    impossible += !expected;
    frozen += c.model.boundary > 0;
    limited += expected && c.model.memory_bytes > 0;
  }
  // The draw covers what it is meant to.
  EXPECT_GT(impossible, kCases / 100);
  EXPECT_GT(frozen, kCases / 10);
  EXPECT_GT(limited, kCases / 10);
}

TEST(PartitionerTest, BalancesStages) {
  const CostModel model = ModelOf({3, 3, 3, 9, 3, 3, 3}, 8);
  EXPECT_THAT(PartitionInto(model, 3), Optional(ElementsAre(3, 4, 7)));
}

TEST(PartitionerTest, FrozenLayersAreLight) {
  // Forward is a third: four frozen layers of 3 s take 4 s, two active ones 6 s.
  CostModel model = ModelOf({3, 3, 3, 3, 3, 3}, 8);
  model.boundary = 4;
  EXPECT_THAT(PartitionInto(model, 2), Optional(ElementsAre(4, 6)));
}

TEST(PartitionerTest, CutsWhereLittleIsSent) {
  // An even split would send 6 s of bytes a micro-batch; one layer further there is nothing to
  // send.
  CostModel model;
  model.layers = {Layer(6, 1), Layer(6, 12), Layer(6, 0), Layer(6, 1)};
  model.bytes_per_second = 2;
  model.micro_batches = 2;
  EXPECT_THAT(PartitionInto(model, 2), Optional(ElementsAre(3, 4)));
  model.layers[1].set_output_bytes(0);
  EXPECT_THAT(PartitionInto(model, 2), Optional(ElementsAre(2, 4)));
}

TEST(PartitionerTest, OfEqualSplitsTheLaterCut) {
  EXPECT_THAT(PartitionInto(ModelOf({3, 3, 3}, 4), 2), Optional(ElementsAre(2, 3)));
}

TEST(PartitionerTest, KeepsWithinMemory) {
  CostModel model = ModelOf({3, 3, 3, 3}, 4);
  model.layers[0].set_parameter_bytes(60);
  model.layers[1].set_parameter_bytes(60);
  model.memory_bytes = 200;  // weights and gradients of one of the first two layers
  EXPECT_THAT(PartitionInto(model, 2), Optional(ElementsAre(1, 4)));
  model.memory_bytes = 100;
  EXPECT_EQ(PartitionInto(model, 2), std::nullopt);
}

TEST(PartitionerTest, NeedsALayerForEachStage) {
  EXPECT_THAT(PartitionInto(ModelOf({1, 2}, 4), 2), Optional(ElementsAre(1, 2)));
  EXPECT_EQ(PartitionInto(ModelOf({1, 2}, 4), 3), std::nullopt);
  EXPECT_EQ(PartitionInto(ModelOf({1, 2}, 4), 0), std::nullopt);
}

TEST(PartitionerTest, MeasuredTimesAgreeWithBruteForceToRounding) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> seconds(0, 0.01);
  for (int i = 0; i < 1000; ++i) {
    CostModel model;
    for (int l = 0; l < 9; ++l) {
      model.layers.push_back(Layer(seconds(random), static_cast<int64_t>(1e9 * seconds(random))));
    }
    model.micro_batches = 1 + i % 12;
    const int stages = 1 + i % 5;
    const auto expected = BruteForce(model, stages).Run();
    const auto partition = PartitionInto(model, stages);
    ASSERT_TRUE(partition.has_value());
    ASSERT_NEAR(StepSeconds(model, *partition), StepSeconds(model, *expected), 1e-12);
  }
}

/// Exact for larger cases, and slow: the least sum of transfers under every possible longest stage.
double LeastStepSeconds(const CostModel& model, int stages) {
  const int layers = static_cast<int>(model.layers.size());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> seconds(layers, std::vector<double>(layers + 1));
  std::set<double> bounds;
  for (int first = 0; first < layers; ++first) {
    for (int end = first + 1; end <= layers; ++end) {
      bounds.insert(seconds[first][end] = StageSeconds(model, first, end));
    }
  }
  double least = kInfinity;
  for (const double bound : bounds) {
    std::vector<double> sums(layers + 1, kInfinity);
    sums[0] = 0;
    for (int s = 0; s < stages; ++s) {
      std::vector<double> longer(layers + 1, kInfinity);
      for (int first = 0; first < layers; ++first) {
        for (int end = first + 1; end <= layers && seconds[first][end] <= bound; ++end) {
          longer[end] = std::min(longer[end], sums[first] + seconds[first][end]);
        }
      }
      sums = std::move(longer);
    }
    least = std::min(least, sums[layers] + (model.micro_batches - 1) * bound);
  }
  return least;
}

TEST(PartitionerTest, LargerCasesAgreeWithASearchOfEveryLongestStage) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> draw(0, 100);
  for (int i = 0; i < 60; ++i) {
    const int transfer_scale = std::vector<int>{0, 1, 5, 30}[i % 4];
    CostModel model;
    for (int l = 0; l < 40; ++l) {
      model.layers.push_back(Layer(3 * draw(random), transfer_scale * draw(random)));
    }
    model.bytes_per_second = 1;
    model.boundary = i % 3 * 10;
    model.micro_batches = std::vector<int>{1, 2, 4, 16, 64}[i % 5];
    const int stages = 2 + i % 9;
    const auto partition = PartitionInto(model, stages);
    ASSERT_TRUE(partition.has_value());
    ASSERT_EQ(StepSeconds(model, *partition), LeastStepSeconds(model, stages)) << "case " << i;
  }
}

}  // namespace
}  // namespace freezepipe::planner
