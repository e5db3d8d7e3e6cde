#include "worker/checkpoint/checkpoint_folders.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "files/checkpoint_layout.h"
#include "worker/checkpoint/checkpoint_files.h"
#include "worker/data/test_files.h"

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class CheckpointFoldersTest : public testing::Test {
 protected:
  void WriteLayers(int step) const {
    CheckpointWriter writer(path_);
    std::string failure;
    writer.Write(step, {{0, {"conv1", step, {{"weight", at::full({3}, step)}}}}},
                 [&failure](int64_t, const std::string& error) { failure = error; });
    writer.Wait();
    EXPECT_EQ(failure, "");
  }

  void Complete(int step, int keep = 2) const {
    v1alpha1::CheckpointIndex index;
    index.set_step(step);
    index.add_layers("conv1");
    index.add_freeze_log()->set_boundary(1);
    auto* window = index.add_windows();
    window->set_step(step);
    window->add_values(std::numeric_limits<double>::quiet_NaN());
    window->add_values(0.30000000000000004);
    CompleteCheckpoint(path_, index, keep);
  }

  void WriteAndComplete(int step, int keep = 2) const {
    WriteLayers(step);
    Complete(step, keep);
  }

  fs::path Whole(int step) const { return files::CheckpointFolder(path_, step); }
  fs::path Partial(int step) const { return files::PartialFolder(path_, step); }

  TestFolder folder_;
  const fs::path& path_ = folder_.path();
};

TEST_F(CheckpointFoldersTest, SaysWhyNothingCanBeWritten) {
  EXPECT_EQ(WhyNotWritable(path_ / "new" / "folder"), "");
  EXPECT_TRUE(fs::is_empty(path_ / "new" / "folder"));
  WriteFile(path_ / "file", "");
  const std::string why = WhyNotWritable(path_ / "file" / "folder");
  EXPECT_NE(why.find("file/folder: Not a directory"), std::string::npos) << why;
}

TEST_F(CheckpointFoldersTest, ComesBackAsItWas) {
  WriteAndComplete(10);
  const auto found = FindCheckpoint(path_);
  EXPECT_EQ(found.newest().step(), 10);
  EXPECT_EQ(found.newest().layers(0), "conv1");
  EXPECT_EQ(found.newest().freeze_log(0).boundary(), 1);
  EXPECT_TRUE(std::isnan(found.newest().windows(0).values(0)));
  EXPECT_EQ(found.newest().windows(0).values(1), 0.30000000000000004);
}

TEST_F(CheckpointFoldersTest, KeepsTheNewestAndClearsWhatIsUnfinished) {
  for (const int step : {10, 20, 25, 30}) WriteLayers(step);
  for (const int step : {10, 20, 30}) Complete(step);
  WriteLayers(40);
  EXPECT_FALSE(fs::exists(Whole(10)));
  EXPECT_TRUE(fs::exists(Whole(20)));
  EXPECT_TRUE(fs::exists(Whole(30)));
  EXPECT_FALSE(fs::exists(Partial(25)));
  EXPECT_TRUE(fs::exists(Partial(40)));
}

TEST_F(CheckpointFoldersTest, CompletedAgainItStaysAsItIs) {
  WriteAndComplete(10, 1);
  Complete(10, 1);
  EXPECT_EQ(DamageOf(Whole(10)), "");
  WriteAndComplete(20, 1);
  // An order that comes again after the folder was pruned.
  Complete(10, 1);
  EXPECT_FALSE(fs::exists(Whole(10)));
  EXPECT_EQ(DamageOf(Whole(20)), "");
}

TEST_F(CheckpointFoldersTest, ReplacesTheSameStepOfAnEarlierHistory) {
  WriteAndComplete(10);
  fs::remove(Whole(10) / "layer-0000.safetensors");
  WriteAndComplete(10);
  EXPECT_EQ(DamageOf(Whole(10)), "");
  EXPECT_FALSE(fs::exists(Partial(10)));
}

TEST_F(CheckpointFoldersTest, ClearsLaterStepsThatTheJobWentBackBehind) {
  WriteAndComplete(10);
  WriteAndComplete(30);
  WriteAndComplete(20, 1);
  EXPECT_FALSE(fs::exists(Whole(10)));
  EXPECT_TRUE(fs::exists(Whole(20)));
  EXPECT_FALSE(fs::exists(Whole(30)));
}

TEST_F(CheckpointFoldersTest, FindsTheNewestSoundOneAndTheStepsBeforeIt) {
  for (const int step : {10, 20, 30, 40}) WriteAndComplete(step, 4);
  fs::resize_file(Whole(40) / "layer-0000.safetensors", 20);
  WriteFile(Whole(30) / files::kIndexFile, "{\"step\": 2");
  const auto found = FindCheckpoint(path_);
  EXPECT_EQ(found.newest().step(), 20);
  EXPECT_THAT(found.older_steps(), ElementsAre(10));
}

TEST_F(CheckpointFoldersTest, FindsNothingWhereNothingIsComplete) {
  WriteLayers(10);
  EXPECT_FALSE(FindCheckpoint(path_).has_newest());
  EXPECT_FALSE(FindCheckpoint(path_ / "absent").has_newest());
}

TEST_F(CheckpointFoldersTest, WhatWasNeverWrittenIsSaidByName) {
  try {
    Complete(10);
    FAIL() << "completed what is not there";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("step-00000010.partial"));
  }
}

}  // namespace
}  // namespace freezepipe::worker
