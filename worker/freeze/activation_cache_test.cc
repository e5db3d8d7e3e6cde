#include "worker/freeze/activation_cache.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace freezepipe::worker {
namespace {

constexpr int64_t kRowBytes = 6 * 4;

/// [rows, 2, 3] in fp32, counting from `first`.
at::Tensor Rows(int64_t rows, int first) {
  return at::arange(first, first + rows * 6, at::kFloat).reshape({rows, 2, 3});
}

TEST(ActivationCacheTest, GivesBackTheRowsOfALevel) {
  ActivationCache cache(4);
  cache.SetLimit(4 * kRowBytes);
  cache.Write({7, 3}, 2, Rows(2, 0));
  cache.Write({5}, 4, Rows(1, 100));
  EXPECT_EQ(cache.LevelOf(7), 2);
  EXPECT_EQ(cache.LevelOf(5), 4);
  EXPECT_EQ(cache.LevelOf(6), 0);
  EXPECT_EQ(cache.bytes(), 3 * kRowBytes);
  at::Tensor value;
  cache.Read({3, 5, 7}, 2, &value);
  EXPECT_TRUE(at::equal(value[0], Rows(2, 0)[1]));
  EXPECT_TRUE(at::equal(value[1], at::zeros({2, 3})));
  EXPECT_TRUE(at::equal(value[2], Rows(2, 0)[0]));
  cache.Read({3, 5, 7}, 4, &value);
  EXPECT_TRUE(at::equal(value[1], Rows(1, 100)[0]));
  EXPECT_TRUE(at::equal(value[2], Rows(2, 0)[0])) << "other rows stay";
}

TEST(ActivationCacheTest, KeepsTheMemoryOrder) {
  ActivationCache cache(2);
  cache.SetLimit(1 << 20);
  const auto images = at::arange(2 * 3 * 4 * 5, at::kFloat)
                          .reshape({2, 3, 4, 5})
                          .contiguous(at::MemoryFormat::ChannelsLast);
  cache.Write({0, 1}, 1, images);
  at::Tensor value;
  cache.Read({0, 1}, 1, &value);
  EXPECT_TRUE(at::equal(value, images));
  EXPECT_EQ(value.strides(), images.strides());
}

TEST(ActivationCacheTest, ALevelThatWouldNotFitForAllSamplesIsNotKept) {
  ActivationCache cache(3);
  cache.SetLimit(3 * kRowBytes - 1);
  cache.Write({0}, 1, Rows(1, 0));
  EXPECT_EQ(cache.LevelOf(0), 0);
  EXPECT_EQ(cache.bytes(), 0);
  cache.SetLimit(3 * kRowBytes);
  cache.Write({0}, 1, Rows(1, 0));
  EXPECT_EQ(cache.LevelOf(0), 1);
}

TEST(ActivationCacheTest, ANewLevelTakesThePlaceOfTheOldOne) {
  ActivationCache cache(2);
  cache.SetLimit(2 * kRowBytes);
  cache.Write({0, 1}, 1, Rows(2, 0));
  cache.Write({1}, 2, Rows(1, 50));
  EXPECT_EQ(cache.LevelOf(0), 1);
  EXPECT_EQ(cache.LevelOf(1), 2);
  EXPECT_EQ(cache.bytes(), 2 * kRowBytes);
}

TEST(ActivationCacheTest, ForgetsWhatIsFrozenNoLongerAndWhatIsOverTheLimit) {
  ActivationCache cache(4);
  cache.SetLimit(4 * kRowBytes);
  cache.Write({0, 1}, 1, Rows(2, 0));
  cache.Write({2, 3}, 2, Rows(2, 0));
  cache.DropAbove(1);
  EXPECT_EQ(cache.LevelOf(1), 1);
  EXPECT_EQ(cache.LevelOf(2), 0);
  EXPECT_EQ(cache.bytes(), 2 * kRowBytes);
  cache.SetLimit(kRowBytes);
  EXPECT_EQ(cache.bytes(), kRowBytes);
}

}  // namespace
}  // namespace freezepipe::worker
