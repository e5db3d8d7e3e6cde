#include "operator/kube/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "operator/kube/eventually.h"

namespace freezepipe::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow{seconds(1000)};

TEST(QueueState, AKeyWaitsOnceInOrderOfItsFirstAdd) {
  QueueState state;
  for (const char* key : {"a", "b", "a", "c", "b"}) state.Add(key);
  EXPECT_EQ(state.waiting(), 3u);
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(state.Take(kNow), key);
  EXPECT_EQ(state.Take(kNow), std::nullopt);
}

TEST(QueueState, AKeyInWorkWaitsUntilItIsDone) {
  QueueState state;
  state.Add("a");
  EXPECT_EQ(state.Take(kNow), "a");
  state.Add("a");
  state.Add("a");
  EXPECT_EQ(state.Take(kNow), std::nullopt);
  state.Done("a");
  EXPECT_EQ(state.Take(kNow), "a");
  state.Done("a");
  EXPECT_EQ(state.Take(kNow), std::nullopt);
}

TEST(QueueState, DelayedKeysComeWhenDue) {
  QueueState state;
  state.AddAt("late", kNow + seconds(2));
  state.AddAt("early", kNow + seconds(1));
  EXPECT_EQ(state.Take(kNow), std::nullopt);
  EXPECT_EQ(state.NextDue(), kNow + seconds(1));
  EXPECT_EQ(state.Take(kNow + seconds(1)), "early");
  EXPECT_EQ(state.Take(kNow + seconds(1)), std::nullopt);
  EXPECT_EQ(state.Take(kNow + seconds(9)), "late");
  EXPECT_EQ(state.NextDue(), std::nullopt);
}

TEST(QueueState, TheEarlierOfTwoTimesCounts) {
  for (const bool early_first : {true, false}) {
    QueueState state;
    state.AddAt("a", kNow + seconds(early_first ? 1 : 5));
    state.AddAt("a", kNow + seconds(early_first ? 5 : 1));
    EXPECT_EQ(state.Take(kNow + seconds(1)), "a");
    state.Done("a");
    EXPECT_EQ(state.Take(kNow + seconds(9)), std::nullopt);
  }
}

TEST(QueueState, AnAddNowLeavesTheDelayedOne) {
  QueueState state;
  state.AddAt("a", kNow + seconds(5));
  state.Add("a");
  EXPECT_EQ(state.Take(kNow), "a");
  state.Done("a");
  EXPECT_EQ(state.Take(kNow + seconds(5)), "a");
}

TEST(WorkQueue, StopEndsTheWait) {
  WorkQueue queue;
  std::stop_source stop;
  std::jthread waiter([&] { EXPECT_EQ(queue.Take(stop.get_token()), std::nullopt); });
  stop.request_stop();
}

TEST(WorkQueue, DelayedKeysWakeThreadsThatWaitAlready) {
  WorkQueue queue;
  std::stop_source stop;
  std::atomic<int> taken = 0;
  std::vector<std::jthread> threads;
  // None says Done: each key needs a thread of its own.
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { taken += queue.Take(stop.get_token()) ? 1 : 0; });
  }
  queue.AddAfter("a", milliseconds(30));
  queue.AddAfter("b", milliseconds(60));
  queue.AddAfter("c", milliseconds(1));
  threads.clear();
  EXPECT_EQ(taken, 3);
}

TEST(WorkQueue, RetriesComeBackAndSuccessForgetsThem) {
  WorkQueue queue;
  queue.Add("a");
  for (int failure = 0; failure < 3; ++failure) {
    EXPECT_EQ(queue.Take({}), "a");
    EXPECT_EQ(queue.Failures("a"), failure);
    queue.Retry("a");
    queue.Done("a");
  }
  EXPECT_EQ(queue.Take({}), "a");
  queue.Forget("a");
  EXPECT_EQ(queue.Failures("a"), 0);
  EXPECT_EQ(queue.waiting(), 0u);
}

TEST(WorkQueue, NoKeyIsWorkedOnTwiceAtOnceAndNoneIsLost) {
  constexpr int kKeys = 8;
  constexpr int kAdds = 2000;
  WorkQueue queue;
  std::stop_source stop;
  // Of each key: what was asked for, and what the last work on it saw.
  std::array<std::atomic<int>, kKeys> asked{};
  std::array<std::atomic<int>, kKeys> seen{};
  std::array<std::atomic<bool>, kKeys> in_work{};
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([&] {
        while (auto key = queue.Take(stop.get_token())) {
          const int number = std::stoi(*key);
          EXPECT_FALSE(in_work[number].exchange(true));
          seen[number] = asked[number].load();
          in_work[number] = false;
          queue.Done(*key);
        }
      });
    }
    {
      std::vector<std::jthread> adders;
      for (int i = 0; i < 2; ++i) {
        adders.emplace_back([&] {
          for (int add = 0; add < kAdds; ++add) {
            ++asked[add % kKeys];
            queue.Add(std::to_string(add % kKeys));
          }
        });
      }
    }
    // A key that was added during the work on it doesn't wait yet.
    const auto all_seen = [&] {
      for (int key = 0; key < kKeys; ++key) {
        if (seen[key] != asked[key]) return false;
      }
      return true;
    };
    EXPECT_TRUE(Eventually(all_seen));
    stop.request_stop();
  }
  for (int key = 0; key < kKeys; ++key) EXPECT_EQ(seen[key], asked[key]) << key;
}

}  // namespace
}  // namespace freezepipe::kube
