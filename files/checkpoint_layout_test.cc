#include "files/checkpoint_layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "files/test_folder.h"

namespace freezepipe::files {
namespace {

namespace fs = std::filesystem;

class CheckpointLayoutTest : public testing::Test {
 protected:
  void Write(const std::string& folder, const std::string& index) const {
    fs::create_directories(directory_ / folder);
    std::ofstream(directory_ / folder / "checkpoint.json") << index;
  }

  const TestFolder test_folder_;
  const fs::path& directory_ = test_folder_.path();
};

TEST_F(CheckpointLayoutTest, FindsTheNewestFirstAndReadsIt) {
  Write("step-00000010", R"({"step": 10})");
  Write("step-00000020",
        R"({"step": 20, "freezeLog": [{"boundary": 1}],
            "windows": [{"step": 20, "values": ["NaN", 0.30000000000000004]}]})");
  Write("step-00000030.partial", R"({"step": 30})");
  const auto found = FindCheckpoints(directory_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].step, 20);
  EXPECT_EQ(found[1].path, directory_ / "step-00000010");
  const auto index = ReadCheckpointIndex(found[0].path);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->step(), 20);
  EXPECT_EQ(index->freeze_log(0).boundary(), 1);
  EXPECT_TRUE(std::isnan(index->windows(0).values(0)));
  EXPECT_EQ(index->windows(0).values(1), 0.30000000000000004);
  const auto partial = FindPartialCheckpoints(directory_);
  ASSERT_EQ(partial.size(), 1u);
  EXPECT_EQ(partial[0].step, 30);
  EXPECT_EQ(partial[0].path, PartialFolder(directory_, 30));
}

TEST_F(CheckpointLayoutTest, NamesAnIndexThatCannotBeRead) {
  Write("step-00000020", R"({"step": 2)");
  const auto damaged = ReadCheckpointIndex(FindCheckpoints(directory_).at(0).path);
  EXPECT_EQ(damaged.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(damaged.status().message().find("step-00000020/checkpoint.json"),
            absl::string_view::npos);
}

TEST_F(CheckpointLayoutTest, FindsNothingWhereNothingIs) {
  EXPECT_TRUE(FindCheckpoints(directory_).empty());
  EXPECT_TRUE(FindCheckpoints(directory_ / "absent").empty());
}

}  // namespace
}  // namespace freezepipe::files
