// Two workers of a plan in one process, over Gloo on the loopback.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "worker/transport/channel.h"
#include "worker/transport/generation.h"
#include "worker/transport/shared_sum.h"

namespace freezepipe::worker {
namespace {

constexpr char kHost[] = "127.0.0.1";

class Transport : public testing::Test {
 protected:
  /// Both workers' view of generation `number`: two stages, or two replicas of one.
  void Form(int number, int replicas) {
    v1alpha1::Plan plan;
    plan.set_term(1);
    plan.set_generation(number);
    plan.set_replicas(replicas);
    for (int stage = 0; stage < 2 / replicas; ++stage) {
      auto& added = *plan.add_stages();
      for (int replica = 0; replica < replicas; ++replica) added.add_workers(stage + replica);
    }
    for (int worker = 0; worker < 2; ++worker) {
      auto& address = *plan.add_addresses();
      address.set_worker(worker);
      address.set_host(kHost);
      address.set_store_port(stores_[worker].port());
    }
    auto other = std::async(std::launch::async,
                            [&] { return std::make_unique<Generation>(plan, 1, *gloo_, nullptr); });
    workers_[0] = std::make_unique<Generation>(plan, 0, *gloo_, nullptr);
    workers_[1] = other.get();
  }

  StoreServer stores_[2] = {StoreServer(kHost), StoreServer(kHost)};
  std::unique_ptr<BackendFactory> gloo_ = MakeGlooFactory(kHost);
  std::unique_ptr<Generation> workers_[2];
  double waited_ = 0;
};

TEST_F(Transport, PositionsFollowThePlan) {
  Form(1, 1);
  EXPECT_TRUE(workers_[0]->first_stage());
  EXPECT_FALSE(workers_[0]->lead());
  EXPECT_TRUE(workers_[1]->lead());
  Form(2, 2);
  EXPECT_TRUE(workers_[0]->lead());
  EXPECT_EQ(workers_[1]->position().replica, 1);
}

TEST_F(Transport, ReplicasSumThroughMemory) {
  Form(1, 2);
  ASSERT_TRUE(workers_[0]->replicas_share_memory());
  ASSERT_TRUE(workers_[1]->replicas_share_memory());
  constexpr int kTurns = 20, kCount = 1000;
  const auto numbers = [](int rank, int turn) {
    return at::arange(kCount, at::kFloat).mul_(rank + 1).add_(0.1 * turn);
  };
  const auto run = [&](int rank) {
    SharedSum sum(*workers_[rank]->stage_replicas(), kCount, at::kFloat);
    std::vector<at::Tensor> results;
    for (int turn = 0; turn < kTurns; ++turn) {
      sum.own().copy_(numbers(rank, turn));
      sum.Publish().Wait();
      // In two parts; whoever is quicker goes on to the next turn meanwhile.
      results.push_back(at::empty({kCount}, at::kFloat));
      sum.SumInto(results.back().narrow(0, 0, 300), 0);
      sum.SumInto(results.back().narrow(0, 300, kCount - 300), 300);
      sum.Turn();
    }
    return results;
  };
  auto other = std::async(std::launch::async, run, 1);
  const auto first = run(0), second = other.get();
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto expected = numbers(0, turn) + numbers(1, turn);
    EXPECT_TRUE(at::equal(first[turn], expected)) << turn;
    EXPECT_TRUE(at::equal(second[turn], expected)) << turn;
  }
}

class Tensors : public Transport, public testing::WithParamInterface<bool> {};

TEST_P(Tensors, ArriveWithTheirShapesTypesAndStrides) {
  Form(1, 1);
  const bool share = GetParam();
  Outbox outbox(workers_[0]->world(), workers_[0]->forward(), 1, 20, share);
  Inbox inbox(workers_[1]->world(), workers_[1]->forward(), 0, 20, at::kCPU, 4);
  const auto images = at::arange(2 * 3 * 4 * 5, at::kFloat).view({2, 3, 4, 5});
  const std::vector<at::Tensor> sent = {images, images.contiguous(at::MemoryFormat::ChannelsLast),
                                        images.slice(0, 0, 1).to(at::kDouble),
                                        at::arange(7, at::kBFloat16)};
  outbox.Send(StepHeader{.step = 5, .boundary = 2});
  for (int i = 0; i < static_cast<int>(sent.size()); ++i) {
    outbox.Send(Message::Kind::kTraining, i, sent[i]);
  }
  const auto header = inbox.Take(&waited_);
  EXPECT_EQ(header.kind, Message::Kind::kHeader);
  EXPECT_EQ(header.header.step, 5);
  EXPECT_EQ(header.header.boundary, 2);
  for (int i = 0; i < static_cast<int>(sent.size()); ++i) {
    const auto message = inbox.Take(&waited_);
    EXPECT_EQ(message.micro_batch, i);
    EXPECT_EQ(message.tensor.scalar_type(), sent[i].scalar_type());
    EXPECT_EQ(message.tensor.strides(), sent[i].strides());
    EXPECT_TRUE(at::equal(message.tensor, sent[i]));
  }
  for (auto& worker : workers_) worker->Abort();
}

INSTANTIATE_TEST_SUITE_P(Transport, Tensors, testing::Bool(), [](const auto& share) {
  return share.param ? "ThroughSharedMemory" : "OverGloo";
});

TEST_F(Transport, NeighboursOnOneMachineShareMemory) {
  Form(1, 1);
  EXPECT_TRUE(workers_[0]->shares_memory_with(1));
  EXPECT_TRUE(workers_[1]->shares_memory_with(0));
}

TEST_F(Transport, ReplicasReduceTogether) {
  Form(1, 2);
  auto one = at::arange(3, at::kFloat), two = at::arange(3, at::kFloat).mul(10);
  auto first = workers_[0]->stage_replicas()->AllReduce(one);
  auto second = workers_[1]->stage_replicas()->AllReduce(two);
  first.Wait();
  second.Wait();
  EXPECT_TRUE(at::equal(one, at::arange(3, at::kFloat).mul(11)));
  EXPECT_TRUE(at::equal(one, two));
}

TEST_F(Transport, AnInboxMayBeIdleForLongerThanTheGroupsTimeOut) {
  const std::chrono::milliseconds timeout(200);
  gloo_ = MakeGlooFactory(kHost, timeout);
  Form(1, 1);
  Outbox outbox(workers_[0]->world(), workers_[0]->forward(), 1, 20);
  Inbox inbox(workers_[1]->world(), workers_[1]->forward(), 0, 20, at::kCPU, 4);
  std::this_thread::sleep_for(3 * timeout);
  outbox.Send(StepHeader{.step = 5});
  EXPECT_EQ(inbox.Take(&waited_).header.step, 5);
  for (auto& worker : workers_) worker->Abort();
}

TEST_F(Transport, AnAbortEndsAWaitForAMessageThatNeverComes) {
  Form(1, 1);
  Inbox inbox(workers_[1]->world(), workers_[1]->forward(), 0, 20, at::kCPU, 4);
  auto waiting = std::async(std::launch::async, [&] { inbox.Take(&waited_); });
  workers_[1]->Abort();
  EXPECT_THROW(waiting.get(), TransportError);
  EXPECT_THROW(workers_[1]->world().Barrier(), TransportError);
}

TEST_F(Transport, APeerThatIsGoneEndsAWait) {
  Form(1, 1);
  auto tensor = at::arange(3, at::kFloat);
  auto receive = workers_[1]->world().Receive(tensor, 0, 5);
  workers_[0].reset();
  EXPECT_THROW(receive.Wait(), TransportError);
}

}  // namespace
}  // namespace freezepipe::worker
