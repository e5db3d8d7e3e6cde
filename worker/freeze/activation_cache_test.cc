#include "worker/freeze/activation_cache.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "files/test_folder.h"
#include "worker/freeze/stored_type.h"

namespace freezepipe::worker {
namespace {

using v1alpha1::CacheType;
using Log = std::vector<v1alpha1::FreezeLogEntry>;

constexpr int64_t kKeys = 4;
constexpr int64_t kPlenty = int64_t{1} << 40;
/// Of all keys' rows of up to 16 numbers.
const int64_t kFileBytes = LevelFile::BytesOf({.bytes = 64}, kKeys);

/// [rows, 2, 3] in fp32, counting from `first`.
at::Tensor Rows(int64_t rows, int first) {
  return at::arange(first, first + rows * 6, at::kFloat).reshape({rows, 2, 3});
}

v1alpha1::FreezeLogEntry Entry(int frozen_at, int boundary) {
  v1alpha1::FreezeLogEntry entry;
  entry.set_chosen_at(frozen_at);
  entry.set_frozen_at(frozen_at);
  entry.set_boundary(boundary);
  return entry;
}
const Log kLog = {Entry(10, 2), Entry(20, 4), Entry(30, 6)};

class ActivationCacheTest : public testing::Test {
 protected:
  /// As another worker on this machine would have it, with layers [first, end) frozen.
  ActivationCache Cache(int first, int end, CacheType::Type type = CacheType::Full) const {
    std::vector<CacheTier> tiers;
    const auto plenty = [] { return kPlenty; };
    tiers.emplace_back(memory_.path(), memory_limit_, CacheTier::Medium::kMemory, plenty);
    tiers.emplace_back(disk_.path(), disk_limit_, CacheTier::Medium::kDisk, plenty);
    ActivationCache cache(kKeys, tiers, type);
    cache.BeginStep(kLog, 6, first, end);
    return cache;
  }
  static int Files(const files::TestFolder& folder) {
    return static_cast<int>(
        CacheTier(folder.path(), 0, CacheTier::Medium::kDisk, nullptr).List().size());
  }

  const files::TestFolder memory_, disk_;
  int64_t memory_limit_ = kPlenty, disk_limit_ = 0;
};

TEST_F(ActivationCacheTest, GivesTheRowsThatAnotherWorkerWrote) {
  ActivationCache one = Cache(0, 2);
  EXPECT_EQ(one.LevelOf(3), 0);
  one.Write({3, 1}, Rows(2, 0));
  EXPECT_EQ(one.LevelOf(3), 2);
  ActivationCache other = Cache(0, 4);
  other.Write({0}, Rows(1, 100));
  EXPECT_EQ(other.LevelOf(3), 2);
  EXPECT_EQ(other.LevelOf(0), 4);
  EXPECT_EQ(other.LevelOf(2), 0);
  at::Tensor value;
  other.Read({1, 0, 3}, 2, &value);
  EXPECT_TRUE(at::equal(value[0], Rows(2, 0)[1]));
  EXPECT_TRUE(at::equal(value[1], at::zeros({2, 3})));
  EXPECT_TRUE(at::equal(value[2], Rows(2, 0)[0]));
  other.Read({1, 0, 3}, 4, &value);
  EXPECT_TRUE(at::equal(value[1], Rows(1, 100)[0]));
  EXPECT_TRUE(at::equal(value[2], Rows(2, 0)[0])) << "other rows stay";
}

TEST_F(ActivationCacheTest, SeesFromTheNextStepOnWhatAnotherWorkerMade) {
  ActivationCache one = Cache(0, 2), other = Cache(0, 2);
  one.Write({3}, Rows(1, 0));
  EXPECT_EQ(other.LevelOf(3), 0);
  other.BeginStep(kLog, 6, 0, 2);
  EXPECT_EQ(other.LevelOf(3), 2);
  one.Write({2}, Rows(1, 0));
  EXPECT_EQ(other.LevelOf(2), 2) << "in a file that it has, at once";
}

TEST_F(ActivationCacheTest, TwoThatMakeALevelAtOnceShareIt) {
  ActivationCache one = Cache(0, 2), other = Cache(0, 2);
  one.Write({0}, Rows(1, 0));
  other.Write({1}, Rows(1, 6));
  EXPECT_EQ(one.LevelOf(1), 2);
  EXPECT_EQ(other.LevelOf(0), 2);
}

TEST_F(ActivationCacheTest, KeepsTypeAndMemoryOrder) {
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const files::TestFolder folder;
    ActivationCache cache(2, {CacheTier(folder.path(), kPlenty, CacheTier::Medium::kDisk, nullptr)},
                          CacheType::Full);
    cache.BeginStep(kLog, 6, 0, 2);
    const auto images = (at::arange(2 * 3 * 4 * 5, at::kDouble) / 7)
                            .to(type)
                            .reshape({2, 3, 4, 5})
                            .contiguous(at::MemoryFormat::ChannelsLast);
    cache.Write({0, 1}, images);
    at::Tensor value;
    cache.Read({0, 1}, 2, &value);
    EXPECT_EQ(value.scalar_type(), type);
    EXPECT_TRUE(at::equal(value, images));
    EXPECT_EQ(value.strides(), images.strides());
  }
}

TEST_F(ActivationCacheTest, RoundedOutputsComeBackAsTheyWereInHalfTheRoom) {
  memory_limit_ = LevelFile::BytesOf({.bytes = 2048}, kKeys);
  const auto output = at::arange(1024, at::kFloat).reshape({1, 1024}) / 7;
  for (const auto type : {CacheType::BFloat16, CacheType::Float16}) {
    const auto rounded = RoundToStored(type, output);
    ActivationCache cache = Cache(0, 2, type);
    cache.Write({3}, rounded);
    at::Tensor value;
    cache.Read({3}, 2, &value);
    EXPECT_TRUE(at::equal(value, rounded));
    EXPECT_EQ(value.scalar_type(), at::kFloat);
    cache.BeginStep({}, 0, 0, 0);
  }
}

TEST_F(ActivationCacheTest, ALevelThatWouldNotFitForAllKeysIsNotKept) {
  memory_limit_ = kFileBytes - 1;
  ActivationCache small = Cache(0, 2);
  small.Write({0}, Rows(1, 0));
  EXPECT_EQ(small.LevelOf(0), 0);
  memory_limit_ = kFileBytes;
  ActivationCache enough = Cache(0, 2);
  enough.Write({0}, Rows(1, 0));
  EXPECT_EQ(enough.LevelOf(0), 2);
}

TEST_F(ActivationCacheTest, GoesToDiskWhereMemoryHasNoRoom) {
  memory_limit_ = kFileBytes;
  disk_limit_ = kFileBytes;
  ActivationCache front = Cache(0, 2), back = Cache(2, 4), last = Cache(4, 6);
  front.Write({0, 1}, Rows(2, 0));
  back.Write({0, 1}, Rows(2, 50));
  last.Write({0, 1}, Rows(2, 90));
  EXPECT_EQ(Files(memory_), 1);
  EXPECT_EQ(Files(disk_), 1);
  back.WillNeed({0, 1, 2});
  at::Tensor value;
  back.Read({0, 1}, 4, &value);
  EXPECT_TRUE(at::equal(value, Rows(2, 50)));
  EXPECT_EQ(last.LevelOf(0), 4) << "no room anywhere";
}

TEST_F(ActivationCacheTest, ALevelMakesRoomForAHigherOneOfItsStageAlone) {
  memory_limit_ = 2 * kFileBytes;
  ActivationCache front = Cache(0, 2);
  front.Write({0}, Rows(1, 0));
  ActivationCache back = Cache(2, 4);
  back.Write({0}, Rows(1, 10));
  back.BeginStep(kLog, 6, 2, 6);
  EXPECT_EQ(back.LevelOf(0), 4);
  back.Write({1}, Rows(1, 20));
  EXPECT_EQ(back.LevelOf(0), 2) << "given up";
  EXPECT_EQ(back.LevelOf(1), 6);
  front.BeginStep(kLog, 6, 0, 2);
  EXPECT_EQ(front.LevelOf(0), 2);
  EXPECT_EQ(Files(memory_), 2);
}

// Where memory is short, half of what is left may be taken: a level that goes makes half its size.
TEST_F(ActivationCacheTest, ALevelStaysThatWouldNotMakeRoomEnough) {
  int64_t memory = 2 * kFileBytes;
  const auto available = [&] { return memory - Files(memory_) * kFileBytes; };
  const CacheTier tier(memory_.path(), kPlenty, CacheTier::Medium::kMemory, available);
  const auto write = [&](int end) {
    ActivationCache cache(kKeys, {tier}, CacheType::Full);
    cache.BeginStep(kLog, 6, 0, end);
    cache.Write({0}, Rows(1, 0));
    return cache.LevelOf(0);
  };
  EXPECT_EQ(write(2), 2);
  memory = kFileBytes + kFileBytes / 2;
  EXPECT_EQ(write(4), 2);
  memory = 2 * kFileBytes + kFileBytes / 4;
  EXPECT_EQ(write(4), 4);
  EXPECT_EQ(Files(memory_), 1);
}

TEST_F(ActivationCacheTest, LowerLevelsGoOnceAllRowsAreOfTheHigherOne) {
  ActivationCache cache = Cache(0, 2);
  cache.Write({0, 1, 2, 3}, Rows(4, 0));
  cache.BeginStep(kLog, 6, 0, 4);
  cache.Write({0, 1, 2}, Rows(3, 0));
  cache.BeginStep(kLog, 6, 0, 4);
  EXPECT_EQ(cache.LevelOf(3), 2);
  EXPECT_EQ(cache.LevelOf(2), 4);
  cache.Write({3}, Rows(1, 0));
  cache.BeginStep(kLog, 6, 0, 4);
  EXPECT_EQ(Files(memory_), 1);
  EXPECT_EQ(cache.LevelOf(3), 4);
}

TEST_F(ActivationCacheTest, AnotherFreezeLogIsAnotherLevel) {
  ActivationCache cache = Cache(0, 4);
  cache.Write({0}, Rows(1, 0));
  // It went back to before the second freeze, which then came later.
  const Log log = {kLog[0], Entry(25, 4)};
  cache.BeginStep({kLog[0]}, 2, 0, 2);
  EXPECT_EQ(cache.LevelOf(0), 0);
  cache.Write({0}, Rows(1, 10));
  cache.BeginStep(log, 4, 0, 4);
  EXPECT_EQ(cache.LevelOf(0), 2) << "the first freeze is the same";
  EXPECT_EQ(Files(memory_), 1);
  ActivationCache other = Cache(0, 4);
  EXPECT_EQ(other.LevelOf(0), 2);
}

TEST_F(ActivationCacheTest, WhatLearnsAgainIsDropped) {
  ActivationCache cache = Cache(0, 4);
  cache.Write({0}, Rows(1, 0));
  cache.BeginStep(kLog, 2, 0, 2);
  cache.BeginStep(kLog, 4, 0, 4);
  EXPECT_EQ(cache.LevelOf(0), 0);
}

/// In a process of its own, with a small tmpfs as the memory tier's folder. Exits with 2 where that
/// can't be had.
TEST_F(ActivationCacheTest, AFullTmpfsIsNoFault) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", memory_.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
      _exit(2);
    }
    ActivationCache cache = Cache(0, 2);
    cache.Write({0}, at::zeros({1, 1024}));
    const bool kept = cache.LevelOf(0) == 2;
    std::ofstream(memory_.path() / "other") << std::string(64 << 10, 'x');
    cache.Write({1, 2, 3}, at::zeros({3, 1024}));
    const bool given_up = cache.LevelOf(0) == 0 && Files(memory_) == 0;
    cache.Write({3}, at::zeros({1, 1024}));
    _exit(kept && given_up && cache.LevelOf(3) == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "no tmpfs can be mounted";
  EXPECT_EQ(status, 0);
}

TEST_F(ActivationCacheTest, WhatIsReadTooSlowlyIsComputedFromTheNextStepOn) {
  ActivationCache cache = Cache(0, 4);
  cache.Write({0}, Rows(1, 0));
  for (size_t i = 0; i < ReadWorth::kMicroBatches; ++i) cache.OnComputed(1);
  for (size_t i = 0; i < ReadWorth::kMicroBatches; ++i) cache.OnRead(2);
  const auto slow = cache.TakeTooSlow();
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->level, 4);
  EXPECT_EQ(slow->seconds.read, 2);
  EXPECT_EQ(slow->seconds.computed, 1);
  EXPECT_FALSE(cache.TakeTooSlow());
  cache.BeginStep(kLog, 6, 0, 4);
  EXPECT_EQ(cache.LevelOf(0), 0);
  cache.Write({1}, Rows(1, 0));
  EXPECT_EQ(cache.LevelOf(1), 0);
  cache.BeginStep(kLog, 6, 0, 6);
  cache.Write({1}, Rows(1, 0));
  EXPECT_EQ(cache.LevelOf(1), 6) << "of another level nothing is known";
}

}  // namespace
}  // namespace freezepipe::worker
