#include "files/durable_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <iterator>

#include "files/test_folder.h"

namespace freezepipe::files {
namespace {

namespace fs = std::filesystem;

class DurableFileTest : public testing::Test {
 protected:
  std::string Read(const char* name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TestFolder test_folder_;
  const fs::path& folder_ = test_folder_.path();
};

TEST_F(DurableFileTest, IsReplacedWholeAndNothingElseStays) {
  ASSERT_TRUE(WriteDurably(folder_ / "a", {"first"}).ok());
  ASSERT_TRUE(WriteDurably(folder_ / "a", {"sec", "", "ond"}).ok());
  EXPECT_EQ(Read("a"), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(DurableFileTest, ErrorsNameTheFileAndLeaveNothing) {
  const auto absent = WriteDurably(folder_ / "absent" / "a", {"text"});
  EXPECT_NE(absent.message().find("absent/a"), absl::string_view::npos) << absent;
  fs::create_directories(folder_ / "taken" / "inside");
  EXPECT_FALSE(WriteDurably(folder_ / "taken", {"text"}).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "the folder that stood there";
}

TEST_F(DurableFileTest, AWriteThatFailsHalfWayLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(WriteDurably(folder_ / "a", {"first"}).ok());
  // A disk that is full after three bytes, for all that a writer sees of it.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{.rlim_cur = 3, .rlim_max = before.rlim_max};
  const auto ignored = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const absl::Status written = WriteDurably(folder_ / "a", {"second"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, ignored);
  EXPECT_NE(written.message().find("cannot write"), absl::string_view::npos) << written;
  EXPECT_NE(written.message().find((folder_ / "a").string()), absl::string_view::npos) << written;
  EXPECT_EQ(Read("a"), "first");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace freezepipe::files
