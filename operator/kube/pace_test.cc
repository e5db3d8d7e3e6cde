#include <gtest/gtest.h>

#include "operator/kube/backoff.h"
#include "operator/kube/retry_pace.h"
#include "operator/kube/token_bucket.h"

namespace freezepipe::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kStart{seconds(1000)};

TEST(TokenBucket, ABurstAtOnceThenTheRate) {
  TokenBucket bucket(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.Take(kStart), Duration::zero());
  EXPECT_EQ(bucket.Take(kStart), milliseconds(100));
  EXPECT_EQ(bucket.Take(kStart), milliseconds(200));
  // What was promised is paid first.
  EXPECT_EQ(bucket.Take(kStart + milliseconds(200)), milliseconds(100));
}

TEST(TokenBucket, ARestGivesNoMoreThanTheBurst) {
  TokenBucket bucket(10, 2);
  EXPECT_EQ(bucket.Take(kStart), Duration::zero());
  EXPECT_EQ(bucket.Take(kStart + minutes(5)), Duration::zero());
  EXPECT_EQ(bucket.Take(kStart + minutes(5)), Duration::zero());
  EXPECT_EQ(bucket.Take(kStart + minutes(5)), milliseconds(100));
}

TEST(Backoff, DoublesUpTo30SecondsAndStartsOverAfterTwoQuietMinutes) {
  Backoff backoff([] { return 0.0; });
  TimePoint now = kStart;
  for (const int expected : {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000}) {
    const Duration wait = backoff.Next(now);
    EXPECT_EQ(wait, milliseconds(expected));
    now += wait;
  }
  now += minutes(1);
  EXPECT_EQ(backoff.Next(now), seconds(30));
  now += minutes(2) + seconds(1);
  EXPECT_EQ(backoff.Next(now), milliseconds(800));
}

TEST(Backoff, ChanceAddsUpToAsMuchAgain) {
  Backoff backoff([] { return 0.5; });
  EXPECT_EQ(backoff.Next(kStart), milliseconds(1200));
}

TEST(SystemRandom, StaysInRangeAndVaries) {
  const Random random = SystemRandom();
  const double first = random();
  bool varies = false;
  for (int i = 0; i < 100; ++i) {
    const double value = random();
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 1);
    varies = varies || value != first;
  }
  EXPECT_TRUE(varies);
}

TEST(RetryPace, EachKeyFrom5MillisecondsTo1000Seconds) {
  RetryPace pace;
  TimePoint now = kStart;
  Duration expected = milliseconds(5);
  for (int failure = 0; failure < 25; ++failure) {
    EXPECT_EQ(pace.Failures("a"), failure);
    EXPECT_EQ(pace.Next("a", now), expected);
    expected = std::min<Duration>(expected * 2, seconds(1000));
    now += seconds(10);
  }
  EXPECT_EQ(pace.Next("b", now), milliseconds(5));
  pace.Forget("a");
  EXPECT_EQ(pace.Failures("a"), 0);
  EXPECT_EQ(pace.Next("a", now), milliseconds(5));
}

TEST(RetryPace, AllKeysTogether10ASecondAfter100) {
  RetryPace pace;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(pace.Next("key" + std::to_string(i), kStart), milliseconds(5));
  }
  EXPECT_EQ(pace.Next("next", kStart), milliseconds(100));
  EXPECT_EQ(pace.Next("after", kStart), milliseconds(200));
}

}  // namespace
}  // namespace freezepipe::kube
