#include "worker/transport/shared_memory.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace freezepipe::worker {
namespace {

at::Tensor Receive(SharedReceiver& receiver, const SharedAddress& address, const at::Tensor& sent) {
  return receiver.Take(address, sent.sizes(), sent.strides(), sent.scalar_type());
}

TEST(SharedMemory, ATensorInUseIsNeverOverwritten) {
  SharedSender sender;
  SharedReceiver receiver;
  const auto first = at::full({100}, 1.0F), second = at::full({100}, 2.0F);
  const auto kept = Receive(receiver, sender.Put(first), first);
  const auto other = Receive(receiver, sender.Put(second), second);
  EXPECT_TRUE(at::equal(kept, first));
  EXPECT_TRUE(at::equal(other, second));
}

TEST(SharedMemory, ADroppedTensorsBlockIsUsedAgain) {
  SharedSender sender;
  SharedReceiver receiver;
  const auto sent = at::full({100}, 1.0F);
  const auto address = sender.Put(sent);
  { const auto tensor = Receive(receiver, address, sent); }
  EXPECT_EQ(sender.Put(sent).descriptor, address.descriptor);
  EXPECT_NE(sender.Put(at::full({200}, 1.0F)).descriptor, address.descriptor);
}

TEST(SharedMemory, ATensorOutlivesBothEnds) {
  const auto sent = at::arange(24, at::kDouble).view({2, 3, 4}).permute({2, 0, 1});
  at::Tensor received;
  {
    SharedSender sender;
    SharedReceiver receiver;
    received = Receive(receiver, sender.Put(sent), sent);
  }
  EXPECT_EQ(received.strides(), sent.strides());
  EXPECT_TRUE(at::equal(received, sent));
}

TEST(SharedMemory, ABlockThatIsNotThereIsAnError) {
  SharedReceiver receiver;
  const auto shape = at::full({1}, 1.0F);
  EXPECT_THROW(Receive(receiver, {.process = getpid(), .descriptor = 1 << 20}, shape),
               TransportError);
  // A file of this process that is no block.
  EXPECT_EQ(SharedBlock::Open({.process = getpid(), .descriptor = 0}), nullptr);
}

}  // namespace
}  // namespace freezepipe::worker
