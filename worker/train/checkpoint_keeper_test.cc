#include "worker/train/checkpoint_keeper.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "worker/checkpoint/checkpoint_files.h"
#include "worker/data/test_files.h"

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;
using v1alpha1::WorkerMessage;

class CheckpointKeeperTest : public testing::Test {
 protected:
  void WriteLayers(int step) const {
    CheckpointWriter writer(folder_.path());
    writer.Write(step, {{0, {"conv1", step, {{"weight", at::full({3}, step)}}}}},
                 [](int64_t, const std::string&) {});
  }

  v1alpha1::CompleteCheckpoint Order(int step, bool export_weights = false) const {
    v1alpha1::CompleteCheckpoint order;
    order.mutable_index()->set_step(step);
    order.mutable_index()->add_layers("conv1");
    order.set_keep(2);
    order.set_export_weights(export_weights);
    return order;
  }

  TestFolder folder_;
  const fs::path weights_ = folder_.path() / "model.safetensors";
  std::vector<WorkerMessage> said_;
  CheckpointKeeper keeper_{[this](WorkerMessage message) { said_.push_back(message); }};
};

TEST_F(CheckpointKeeperTest, CompletesFindsAndExportsInOrder) {
  WriteLayers(10);
  WriteLayers(20);
  keeper_.Complete(folder_.path(), Order(10));
  keeper_.Find(folder_.path());
  keeper_.Wait();
  EXPECT_FALSE(fs::exists(weights_));
  keeper_.Complete(folder_.path(), Order(20, true));
  keeper_.Wait();
  ASSERT_EQ(said_.size(), 3u);
  EXPECT_EQ(said_[0].checkpoint_completed().step(), 10);
  EXPECT_EQ(said_[1].checkpoint_found().newest().step(), 10);
  EXPECT_EQ(said_[2].checkpoint_completed().step(), 20);
  const auto exported = ReadSafetensors(weights_);
  ASSERT_EQ(exported.size(), 1u);
  EXPECT_EQ(exported[0].first, "conv1.weight");
}

TEST_F(CheckpointKeeperTest, SaysWhatCannotBeCompleted) {
  keeper_.Complete(folder_.path(), Order(10));
  keeper_.Wait();
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0].failure().reason(), "CheckpointError");
  EXPECT_THAT(said_[0].failure().message(), testing::HasSubstr("step-00000010.partial"));
}

}  // namespace
}  // namespace freezepipe::worker
