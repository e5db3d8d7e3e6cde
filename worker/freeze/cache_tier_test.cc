#include "worker/freeze/cache_tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "files/test_folder.h"

namespace freezepipe::worker {
namespace {

using Medium = CacheTier::Medium;
using testing::UnorderedElementsAre;

constexpr int64_t kKeys = 10;
const RowShape kShape{.dims = 1, .sizes = {1000}, .strides = {1}, .bytes = 4000};
const int64_t kFileBytes = LevelFile::BytesOf(kShape, kKeys);
constexpr int64_t kPlenty = int64_t{1} << 40;

class CacheTierTest : public testing::Test {
 protected:
  CacheTier Tier(int64_t limit, Medium medium = Medium::kMemory, int64_t available = kPlenty) {
    return {folder_.path(), limit, medium, [available] { return available; }};
  }
  const files::TestFolder folder_;
};

TEST_F(CacheTierTest, ListsAndOpensWhatEitherMade) {
  const CacheTier one = Tier(kPlenty), other = Tier(kPlenty);
  const LevelName name{.level = 3, .version = 0xfedcba9876543210};
  EXPECT_NE(one.Make(name, kShape, kKeys), nullptr);
  EXPECT_NE(other.Make({.level = 12, .version = 1}, kShape, kKeys), nullptr);
  std::ofstream(folder_.path() / "new") << "left half made";
  EXPECT_THAT(other.List(), UnorderedElementsAre(name, LevelName{.level = 12, .version = 1}));
  EXPECT_NE(other.Open(name), nullptr);
  EXPECT_EQ(other.Open({.level = 3, .version = 0}), nullptr);
  one.Remove(name);
  EXPECT_EQ(other.Open(name), nullptr);
}

TEST_F(CacheTierTest, TheLimitHoldsForAllTogether) {
  const CacheTier one = Tier(2 * kFileBytes), other = Tier(2 * kFileBytes);
  EXPECT_NE(one.Make({.level = 1}, kShape, kKeys), nullptr);
  EXPECT_NE(other.Make({.level = 2}, kShape, kKeys), nullptr);
  EXPECT_EQ(one.Make({.level = 3}, kShape, kKeys), nullptr);
  EXPECT_EQ(other.Room(), 0);
  one.Remove({.level = 1});
  EXPECT_NE(other.Make({.level = 3}, kShape, kKeys), nullptr);
}

TEST_F(CacheTierTest, InMemoryNoMoreThanHalfOfWhatIsAvailable) {
  EXPECT_EQ(Tier(kPlenty, Medium::kMemory, 2 * kFileBytes - 1).Make({}, kShape, kKeys), nullptr);
  EXPECT_NE(Tier(kPlenty, Medium::kDisk, 0).Make({}, kShape, kKeys), nullptr);
}

TEST_F(CacheTierTest, WhatIsToBeWrittenIsNotAvailableAnyMore) {
  const CacheTier tier = Tier(kPlenty, Medium::kMemory, 3 * kFileBytes);
  EXPECT_NE(tier.Make({.level = 1}, kShape, kKeys), nullptr);
  EXPECT_EQ(tier.Make({.level = 2}, kShape, kKeys), nullptr);
}

TEST_F(CacheTierTest, AFolderThatIsGoneHasNoRoom) {
  const CacheTier tier("/no/such/folder", kPlenty, Medium::kDisk, [] { return kPlenty; });
  EXPECT_TRUE(tier.List().empty());
  EXPECT_EQ(tier.Make({}, kShape, kKeys), nullptr);
}

}  // namespace
}  // namespace freezepipe::worker
