#include "worker/freeze/available_memory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace freezepipe::worker {
namespace {

namespace fs = std::filesystem;

class AvailableMemoryTest : public testing::Test {
 protected:
  AvailableMemoryTest() {
    root_ = fs::path(testing::TempDir()) /
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    Write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n");
  }
  ~AvailableMemoryTest() override { fs::remove_all(root_); }

  void Write(const char* name, const char* text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }

  fs::path root_;
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
