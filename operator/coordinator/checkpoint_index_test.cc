#include "operator/coordinator/checkpoint_index.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

namespace freezepipe::coordinator {
namespace {

namespace fs = std::filesystem;

class CheckpointIndexTest : public testing::Test {
 protected:
  CheckpointIndexTest() {
    directory_ = fs::path(testing::TempDir()) /
                 (std::string("checkpoints-") +
                  testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~CheckpointIndexTest() override { fs::remove_all(directory_); }

  fs::path Partial(int step) const {
    char name[32];
    std::snprintf(name, sizeof(name), "step-%08d.partial", step);
    return directory_ / name;
  }

  fs::path Whole(int step) const { return Partial(step).replace_extension(); }

  void WriteLayers(int step) const {
    fs::create_directories(Partial(step));
    std::ofstream(Partial(step) / "layer-0000.safetensors") << "weights of step " << step;
  }

  absl::Status Complete(int step, int keep = 2) const {
    CompleteCheckpoint checkpoint;
    checkpoint.step = step;
    v1alpha1::FreezeLogEntry entry;
    entry.set_chosen_at(3);
    entry.set_frozen_at(4);
    entry.set_boundary(1);
    checkpoint.freeze_log.push_back(entry);
    planner::WindowStatistics window;
    window.step = step;
    window.loss = 0.1;
    window.learning_rate = 0.05;
    window.values = {std::numeric_limits<double>::quiet_NaN(), 0.30000000000000004};
    checkpoint.windows.push_back(window);
    return CompleteCheckpointFolder(directory_.string(),
                                    MakeCheckpointIndex(checkpoint, {"conv1", "head"}), keep);
  }

  fs::path directory_;
};

TEST_F(CheckpointIndexTest, ComesBackAsItWas) {
  WriteLayers(10);
  ASSERT_TRUE(Complete(10).ok());
  const auto found = FindCheckpoints(directory_.string());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].step, 10);
  EXPECT_EQ(found[0].path, Whole(10));
  const auto index = ReadCheckpointIndex(found[0]);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->layers(1), "head");
  const auto resume = MakeResume(*index);
  EXPECT_EQ(resume.step, 10);
  EXPECT_EQ(resume.freeze_log.at(0).boundary(), 1);
  EXPECT_TRUE(std::isnan(resume.windows.at(0).values.at(0)));
  EXPECT_EQ(resume.windows.at(0).values.at(1), 0.30000000000000004);
}

TEST_F(CheckpointIndexTest, KeepsTheNewestAndClearsWhatIsUnfinished) {
  for (const int step : {10, 20, 25, 30}) WriteLayers(step);
  for (const int step : {10, 20, 30}) ASSERT_TRUE(Complete(step).ok());
  WriteLayers(40);
  EXPECT_FALSE(fs::exists(Whole(10)));
  EXPECT_TRUE(fs::exists(Whole(20) / "layer-0000.safetensors"));
  EXPECT_TRUE(fs::exists(Whole(30) / "layer-0000.safetensors"));
  EXPECT_FALSE(fs::exists(Partial(25)));
  EXPECT_TRUE(fs::exists(Partial(40)));
}

TEST_F(CheckpointIndexTest, ReplacesTheSameStepOfAnEarlierRun) {
  WriteLayers(10);
  ASSERT_TRUE(Complete(10).ok());
  WriteLayers(10);
  ASSERT_TRUE(Complete(10).ok());
  EXPECT_TRUE(fs::exists(Whole(10) / "layer-0000.safetensors"));
  EXPECT_FALSE(fs::exists(Partial(10)));
}

TEST_F(CheckpointIndexTest, ClearsLaterStepsThatARunWentBackBehind) {
  for (const int step : {10, 30}) {
    WriteLayers(step);
    ASSERT_TRUE(Complete(step).ok());
  }
  WriteLayers(20);
  ASSERT_TRUE(Complete(20, 1).ok());
  EXPECT_FALSE(fs::exists(Whole(10)));
  EXPECT_TRUE(fs::exists(Whole(20)));
  EXPECT_FALSE(fs::exists(Whole(30)));
}

TEST_F(CheckpointIndexTest, FindsTheNewestFirstAndNamesAnIndexThatCannotBeRead) {
  for (const int step : {10, 20}) {
    WriteLayers(step);
    ASSERT_TRUE(Complete(step).ok());
  }
  std::ofstream(Whole(20) / "checkpoint.json") << "{\"step\": 2";
  const auto found = FindCheckpoints(directory_.string());
  ASSERT_EQ(found.size(), 2u);
  const auto damaged = ReadCheckpointIndex(found[0]);
  EXPECT_EQ(damaged.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(damaged.status().message().find("step-00000020/checkpoint.json"),
            absl::string_view::npos);
  EXPECT_EQ(ReadCheckpointIndex(found[1])->step(), 10);
}

TEST_F(CheckpointIndexTest, FindsNothingWhereNothingIsComplete) {
  WriteLayers(10);
  EXPECT_TRUE(FindCheckpoints(directory_.string()).empty());
  EXPECT_TRUE(FindCheckpoints((directory_ / "absent").string()).empty());
}

TEST_F(CheckpointIndexTest, AMissingFolderIsSaidByName) {
  const auto status = Complete(10);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("step-00000010.partial"), absl::string_view::npos);
}

}  // namespace
}  // namespace freezepipe::coordinator
