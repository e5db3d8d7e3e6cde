// The session on its strand with streams in memory: what gRPC, which is not instrumented, would
// hide from TSan.
#include "operator/coordinator/strand_session_runner.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "operator/coordinator/test_collaborators.h"

namespace freezepipe::coordinator {
namespace {

/// Orders go into a queue for each worker; each worker is a thread that answers.
class MemoryStreams : public OrderSink {
 public:
  void Send(int worker, v1alpha1::Order order) override {
    std::lock_guard lock(mutex_);
    orders_[worker].push_back(std::move(order));
    changed_.notify_all();
  }

  v1alpha1::Order Next(int worker) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !orders_[worker].empty(); });
    auto order = std::move(orders_[worker].front());
    orders_[worker].pop_front();
    return order;
  }

  size_t waiting(int worker) {
    std::lock_guard lock(mutex_);
    return orders_[worker].size();
  }

 private:
  std::mutex mutex_;  // Guards orders_.
  std::condition_variable changed_;
  std::map<int, std::deque<v1alpha1::Order>> orders_;
};

void Work(int worker, MemoryStreams* streams, SessionRunner* runner) {
  v1alpha1::Hello hello;
  hello.set_worker(worker);
  hello.set_incarnation("first");
  runner->Post(WorkerAttached{hello});
  while (true) {
    const auto order = streams->Next(worker);
    for (auto& answer : Answers(worker, order)) runner->Post(WorkerSaid{worker, answer});
    if (order.has_exit()) break;
  }
  runner->Post(StreamLost{worker});
  runner->OnWorkerExit(worker, {.clean = true, .why = "exited"});
}

TEST(StrandSessionRunner, RunsAJobToItsEnd) {
  MemoryStreams streams;
  TestCollaborators collaborators;
  StrandSessionRunner runner(TwoWorkerSetup("unused"), &streams, collaborators.All(),
                             std::chrono::milliseconds(1));
  runner.Start();
  collaborators.WaitForLaunches(2);
  {
    std::jthread first([&] { Work(0, &streams, &runner); });
    std::jthread second([&] { Work(1, &streams, &runner); });
  }
  EXPECT_EQ(collaborators.WaitForEnd().state(), v1alpha1::JobState::Succeeded);
  EXPECT_EQ(collaborators.records(), 2u);
}

TEST(StrandSessionRunner, FailsTheJobWhenTheDiskIsFull) {
  MemoryStreams streams;
  TestCollaborators collaborators;
  collaborators.FillDisk();
  StrandSessionRunner runner(TwoWorkerSetup("unused"), &streams, collaborators.All(),
                             std::chrono::milliseconds(1));
  runner.Start();
  collaborators.WaitForLaunches(2);
  {
    std::jthread first([&] { Work(0, &streams, &runner); });
    std::jthread second([&] { Work(1, &streams, &runner); });
  }
  const auto end = collaborators.WaitForEnd();
  EXPECT_EQ(end.state(), v1alpha1::JobState::Failed);
  EXPECT_EQ(end.message(), "RecordError: disk full");
}

TEST(StrandSessionRunner, FallsSilentWhenAnotherCoordinatorLeads) {
  class DeposedStore : public RecordStore {
   public:
    void Write(const v1alpha1::FreezePipeJobStatus&) override {
      written.set_value();
      throw Deposed("term 8 has written");
    }
    std::promise<void> written;
  };
  MemoryStreams streams;
  TestCollaborators collaborators;
  DeposedStore records;
  Collaborators all = collaborators.All();
  all.records = &records;
  {
    StrandSessionRunner runner(TwoWorkerSetup(""), &streams, all, std::chrono::milliseconds(1));
    runner.Start();
    collaborators.WaitForLaunches(2);
    v1alpha1::Hello hello;
    hello.set_incarnation("first");
    runner.Post(WorkerAttached{hello});
    runner.Post(GiveUp{"DeadlineExceeded: too long"});
    records.written.get_future().wait();
  }
  EXPECT_TRUE(streams.Next(0).has_welcome());
  EXPECT_EQ(streams.waiting(0), 0u) << "no Exit: the worker is another's by now";
}

}  // namespace
}  // namespace freezepipe::coordinator
