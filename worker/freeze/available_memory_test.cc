#include "worker/freeze/available_memory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "files/test_folder.h"

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;

class AvailableMemoryTest : public testing::Test {
 protected:
  AvailableMemoryTest() { Write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n"); }

  void Write(const char* name, const char* text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }

  const files::TestFolder test_folder_;
  const fs::path& root_ = test_folder_.path();
};

TEST_F(AvailableMemoryTest, IsTheMachinesWhereNothingLimitsIt) {
  EXPECT_EQ(AvailableMemory(root_), 5000 * 1024);
  Write("sys/fs/cgroup/memory.max", "max\n");
  Write("sys/fs/cgroup/memory.current", "1000\n");
  EXPECT_EQ(AvailableMemory(root_), 5000 * 1024);
}

TEST_F(AvailableMemoryTest, IsWhatAContainersLimitLeaves) {
  Write("sys/fs/cgroup/memory.max", "300000\n");
  Write("sys/fs/cgroup/memory.current", "100000\n");
  EXPECT_EQ(AvailableMemory(root_), 200000);
}

TEST_F(AvailableMemoryTest, IsWhatAContainersLimitLeavesInTheOlderLayout) {
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "300000\n");
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "310000\n");
  EXPECT_EQ(AvailableMemory(root_), 0);
}

TEST(AvailableMemoryHere, IsSome) { EXPECT_GT(AvailableMemory(), 0); }

}  // namespace
}  // namespace freezepipe::worker
