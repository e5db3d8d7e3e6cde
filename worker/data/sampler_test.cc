#include "worker/data/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace freezepipe::worker {
namespace {

using testing::ElementsAre;

std::vector<int64_t> Epoch(const Sampler& sampler, int epoch) {
  std::vector<int64_t> samples;
  for (int step = 0; step < sampler.steps_per_epoch(); ++step) {
    const auto batch = sampler.Batch(epoch * sampler.steps_per_epoch() + step);
    samples.insert(samples.end(), batch.begin(), batch.end());
  }
  return samples;
}

TEST(SamplerTest, EverySampleOnceAnEpoch) {
  for (const auto& [samples, batch, steps] :
       {std::tuple{103, 10, 11}, {100, 10, 10}, {7, 10, 1}, {5, 1, 5}, {1, 1, 1}}) {
    const Sampler sampler(samples, batch, 3);
    EXPECT_EQ(sampler.steps_per_epoch(), steps);
    std::vector<int64_t> expected(samples);
    std::iota(expected.begin(), expected.end(), 0);
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::vector<int64_t> seen = Epoch(sampler, epoch);
      std::sort(seen.begin(), seen.end());
      EXPECT_EQ(seen, expected) << samples << " samples, epoch " << epoch;
    }
  }
}

TEST(SamplerTest, LastBatchIsShort) {
  const Sampler sampler(103, 10, 3);
  EXPECT_EQ(sampler.Batch(9).size(), 10);
  EXPECT_EQ(sampler.Batch(10).size(), 3);
  EXPECT_EQ(sampler.Batch(11).size(), 10);
}

TEST(SamplerTest, BatchesDependOnSeedAndStepAlone) {
  const Sampler forwards(50, 8, 3), backwards(50, 8, 3);
  std::vector<std::vector<int64_t>> batches;
  for (int step = 0; step < 21; ++step) batches.push_back(forwards.Batch(step));
  for (int step = 20; step >= 0; --step) EXPECT_EQ(backwards.Batch(step), batches[step]);
}

TEST(SamplerTest, OrderDiffersByEpochAndSeed) {
  const Sampler sampler(50, 8, 3), other(50, 8, 4);
  EXPECT_NE(Epoch(sampler, 0), Epoch(sampler, 1));
  EXPECT_NE(Epoch(sampler, 0), Epoch(other, 0));
}

TEST(SamplerTest, RefusesNothing) {
  EXPECT_THROW(Sampler(0, 8, 1), std::invalid_argument);
  EXPECT_THROW(Sampler(8, 0, 1), std::invalid_argument);
}

TEST(MicroBatchSizesTest, EvenLargerOnesFirst) {
  EXPECT_THAT(MicroBatchSizes(128, 4), ElementsAre(32, 32, 32, 32));
  EXPECT_THAT(MicroBatchSizes(10, 4), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(MicroBatchSizes(2, 4), ElementsAre(1, 1, 0, 0));
}

}  // namespace
}  // namespace freezepipe::worker
