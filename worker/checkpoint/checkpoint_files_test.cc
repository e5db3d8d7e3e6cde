#include "worker/checkpoint/checkpoint_files.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "worker/data/test_files.h"

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

/// A complete checkpoint of two layers at step 20.
class CheckpointFilesTest : public testing::Test {
 protected:
  CheckpointFilesTest() {
    WriteLayers(20);
    fs::rename(folder_.path() / "step-00000020.partial", checkpoint_);
    WriteFile(checkpoint_ / "checkpoint.json", R"({"step": 20, "layers": ["conv1", "head"]})");
  }

  void WriteLayers(int step) {
    std::vector<CheckpointWriter::Item> items;
    for (const int layer : {0, 1}) {
      items.push_back({.layer = layer,
                       .state = {.layer = layer == 0 ? "conv1" : "head",
                                 .step = step,
                                 .tensors = {{"weight", at::full({3, 2}, layer)}}}});
    }
    std::string failure;
    CheckpointWriter writer(folder_.path());
    writer.Write(step, std::move(items),
                 [&failure](int64_t, const std::string& error) { failure = error; });
    writer.Wait();
    EXPECT_EQ(failure, "");
  }

  std::string ErrorOf(int layer) const {
    try {
      ReadCheckpointLayer(folder_.path(), 20, layer);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  TestFolder folder_;
  const fs::path checkpoint_ = folder_.path() / "step-00000020";
  const fs::path head_ = checkpoint_ / "layer-0001.safetensors";
};

TEST_F(CheckpointFilesTest, ASoundOneHasNoDamage) {
  EXPECT_EQ(DamageOf(checkpoint_), "");
  EXPECT_EQ(ErrorOf(1), "");
}

TEST_F(CheckpointFilesTest, AWriteUnderWayNeedNotBeWaitedFor) {
  std::promise<void> slow_disk;
  CheckpointWriter writer(folder_.path());
  EXPECT_TRUE(writer.WaitFor(std::chrono::milliseconds(0)));
  writer.Write(30, {}, [&](int64_t, const std::string&) { slow_disk.get_future().wait(); });
  EXPECT_FALSE(writer.WaitFor(std::chrono::milliseconds(1)));
  slow_disk.set_value();
  writer.Wait();
  EXPECT_TRUE(writer.WaitFor(std::chrono::milliseconds(0)));
}

TEST_F(CheckpointFilesTest, NamesATruncatedFile) {
  fs::resize_file(head_, fs::file_size(head_) - 1);
  EXPECT_THAT(DamageOf(checkpoint_), HasSubstr(head_.string()));
  EXPECT_EQ(ErrorOf(1), DamageOf(checkpoint_));
  EXPECT_EQ(ErrorOf(0), "");
}

TEST_F(CheckpointFilesTest, NamesAFileWithAWrongByte) {
  std::fstream file(head_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('x');
  file.close();
  EXPECT_THAT(DamageOf(checkpoint_), AllOf(HasSubstr(head_.string()), HasSubstr("hash")));
}

TEST_F(CheckpointFilesTest, NamesAMissingFile) {
  fs::remove(head_);
  EXPECT_THAT(DamageOf(checkpoint_), HasSubstr(head_.string()));
}

TEST_F(CheckpointFilesTest, NamesAFileOfAnotherLayerOrStep) {
  fs::copy_file(checkpoint_ / "layer-0000.safetensors", head_,
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(DamageOf(checkpoint_), AllOf(HasSubstr(head_.string()), HasSubstr("conv1")));

  WriteLayers(30);
  fs::rename(folder_.path() / "step-00000030.partial" / "layer-0001.safetensors", head_);
  EXPECT_THAT(DamageOf(checkpoint_), AllOf(HasSubstr(head_.string()), HasSubstr("step 30")));
  EXPECT_THAT(ErrorOf(1), HasSubstr("step 30"));
}

TEST_F(CheckpointFilesTest, NamesAnIndexThatCannotBeRead) {
  WriteFile(checkpoint_ / "checkpoint.json", "{");
  EXPECT_THAT(DamageOf(checkpoint_), HasSubstr("checkpoint.json"));
}

}  // namespace
}  // namespace freezepipe::worker
