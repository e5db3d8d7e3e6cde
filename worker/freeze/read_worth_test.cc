#include "worker/freeze/read_worth.h"

#include <gtest/gtest.h>

namespace freezepipe::worker {
namespace {

constexpr size_t kEnough = ReadWorth::kMicroBatches;

/// Whether one of these reads, each of so many seconds, was found too slow.
bool TooSlow(ReadWorth& worth, double seconds, size_t reads) {
  bool said = false;
  for (size_t i = 0; i < reads; ++i) said = worth.OnRead(seconds).has_value() || said;
  return said;
}

TEST(ReadWorthTest, SaysSoOnceEnoughReadsTookLonger) {
  ReadWorth worth;
  for (size_t i = 0; i < kEnough; ++i) worth.OnComputed(2);
  EXPECT_FALSE(TooSlow(worth, 3, kEnough - 1));
  const auto medians = worth.OnRead(3);
  ASSERT_TRUE(medians);
  EXPECT_EQ(medians->read, 3);
  EXPECT_EQ(medians->computed, 2);
}

TEST(ReadWorthTest, KnowsNothingBeforeEnoughWereComputed) {
  ReadWorth worth;
  for (size_t i = 0; i < kEnough - 1; ++i) worth.OnComputed(2);
  EXPECT_FALSE(TooSlow(worth, 3, 10 * kEnough));
}

TEST(ReadWorthTest, SomeSlowReadsAreNoReason) {
  ReadWorth worth;
  for (size_t i = 0; i < kEnough; ++i) worth.OnComputed(2);
  EXPECT_FALSE(TooSlow(worth, 100, kEnough / 2 - 1));
  EXPECT_FALSE(TooSlow(worth, 1, kEnough));
  EXPECT_FALSE(TooSlow(worth, 2, 10 * kEnough)) << "not longer";
}

TEST(ReadWorthTest, GoesByTheNewest) {
  ReadWorth worth;
  for (size_t i = 0; i < kEnough; ++i) worth.OnComputed(5);
  EXPECT_FALSE(TooSlow(worth, 3, kEnough));
  for (size_t i = 0; i < kEnough; ++i) worth.OnComputed(2);
  EXPECT_TRUE(TooSlow(worth, 3, kEnough));
}

}  // namespace
}  // namespace freezepipe::worker
