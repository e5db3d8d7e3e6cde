#include "cmd/freezepipe/checkpoint_folders.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace freezepipe::cli {
namespace {

namespace fs = std::filesystem;

class CheckpointFoldersTest : public testing::Test {
 protected:
  CheckpointFoldersTest() {
    directory_ = fs::path(testing::TempDir()) /
                 (std::string("checkpoints-") +
                  testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~CheckpointFoldersTest() override { fs::remove_all(directory_); }

  void Write(const std::string& folder, const std::string& index) const {
    fs::create_directories(directory_ / folder);
    std::ofstream(directory_ / folder / "checkpoint.json") << index;
  }

  fs::path directory_;
};

TEST_F(CheckpointFoldersTest, FindsTheNewestFirstAndReadsIt) {
  Write("step-00000010", R"({"step": 10})");
  Write("step-00000020",
        R"({"step": 20, "freezeLog": [{"boundary": 1}],
            "windows": [{"step": 20, "values": ["NaN", 0.30000000000000004]}]})");
  Write("step-00000030.partial", R"({"step": 30})");
  const auto found = FindCheckpoints(directory_.string());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].step, 20);
  EXPECT_EQ(found[1].path, directory_ / "step-00000010");
  const auto index = ReadCheckpointIndex(found[0]);
  ASSERT_TRUE(index.ok()) << index.status();
  const auto resume = MakeResume(*index);
  EXPECT_EQ(resume.step, 20);
  EXPECT_EQ(resume.freeze_log.at(0).boundary(), 1);
  EXPECT_TRUE(std::isnan(resume.windows.at(0).values.at(0)));
  EXPECT_EQ(resume.windows.at(0).values.at(1), 0.30000000000000004);
}

TEST_F(CheckpointFoldersTest, NamesAnIndexThatCannotBeRead) {
  Write("step-00000020", R"({"step": 2)");
  const auto damaged = ReadCheckpointIndex(FindCheckpoints(directory_.string()).at(0));
  EXPECT_EQ(damaged.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(damaged.status().message().find("step-00000020/checkpoint.json"),
            absl::string_view::npos);
}

TEST_F(CheckpointFoldersTest, FindsNothingWhereNothingIs) {
  EXPECT_TRUE(FindCheckpoints(directory_.string()).empty());
  EXPECT_TRUE(FindCheckpoints((directory_ / "absent").string()).empty());
}

}  // namespace
}  // namespace freezepipe::cli
