#include "operator/coordinator/strand.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <vector>

namespace freezepipe::coordinator {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Strand, RunsEachThreadsTasksInOrderAndOneAtATime) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 500;
  std::vector<std::pair<int, int>> ran;  // Touched on the strand alone: TSan says if not.
  std::latch all(kThreads * kTasks);
  Strand strand(hours(1), [] {});
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int task = 0; task < kTasks; ++task) {
          strand.Post([&, thread, task] {
            ran.emplace_back(thread, task);
            all.count_down();
          });
        }
      });
    }
  }
  all.wait();
  std::vector<int> next(kThreads, 0);
  for (const auto& [thread, task] : ran) EXPECT_EQ(task, next[thread]++);
}

TEST(Strand, TicksAlsoWhileTasksKeepComing) {
  std::promise<void> third_tick;
  int ticks = 0;
  std::atomic<bool> enough = false;
  std::function<void()> flood;  // Outlives the strand that runs it.
  Strand strand(milliseconds(1), [&] {
    if (++ticks == 3) third_tick.set_value();
  });
  flood = [&] {
    if (!enough) strand.Post(flood);
  };
  strand.Post(flood);
  third_tick.get_future().wait();
  enough = true;
}

TEST(Strand, FinishesTheTaskUnderWayWhenItEnds) {
  std::atomic<bool> finished = false;
  std::promise<void> begun;
  {
    Strand strand(hours(1), [] {});
    strand.Post([&] {
      begun.set_value();
      std::this_thread::sleep_for(milliseconds(20));
      finished = true;
    });
    begun.get_future().wait();
  }
  EXPECT_TRUE(finished);
}

}  // namespace
}  // namespace freezepipe::coordinator
