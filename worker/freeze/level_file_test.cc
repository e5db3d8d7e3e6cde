#include "worker/freeze/level_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "files/test_folder.h"

namespace freezepipe::worker {
namespace {

constexpr int64_t kKeys = 5;

/// Of `numbers` doubles.
RowShape Shape(int64_t numbers) {
  return {
      .type = 7, .stored = 7, .dims = 1, .sizes = {numbers}, .strides = {1}, .bytes = numbers * 8};
}

void Put(LevelFile& file, int64_t key, double value) {
  void* row = file.Allocate(key);
  ASSERT_NE(row, nullptr);
  std::memcpy(row, &value, sizeof(value));
  file.Publish(key);
}

double First(const LevelFile& file, int64_t key) {
  double value = 0;
  std::memcpy(&value, file.Row(key), sizeof(value));
  return value;
}

class LevelFileTest : public testing::Test {
 protected:
  const files::TestFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "level";
};

TEST_F(LevelFileTest, OneSeesWhatAnotherWrote) {
  EXPECT_EQ(LevelFile::Open(path_), nullptr);
  const auto one = LevelFile::Make(path_, Shape(3), kKeys);
  ASSERT_NE(one, nullptr);
  const auto other = LevelFile::Open(path_);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->shape(), Shape(3));
  EXPECT_FALSE(other->Has(4));
  Put(*one, 4, 2.5);
  Put(*other, 0, 1.5);
  ASSERT_TRUE(other->Has(4));
  EXPECT_EQ(First(*other, 4), 2.5);
  EXPECT_EQ(First(*one, 0), 1.5);
  EXPECT_FALSE(one->Has(3));
}

TEST_F(LevelFileTest, OneProcessSeesWhatAnotherWroteAndThatItIsFull) {
  const auto file = LevelFile::Make(path_, Shape(1000), kKeys);
  Put(*file, 0, 10);
  const pid_t child = fork();
  if (child == 0) {
    const auto mine = LevelFile::Open(path_);
    if (mine == nullptr || First(*mine, 0) != 10 || mine->full()) _exit(1);
    for (int key = 0; key < kKeys; ++key) Put(*mine, key, 10 + key);
    _exit(mine->full() ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(file->full());
  for (int key = 0; key < kKeys; ++key) EXPECT_EQ(First(*file, key), 10 + key);
}

TEST_F(LevelFileTest, ARowWrittenTwiceCountsOnce) {
  const auto file = LevelFile::Make(path_, Shape(1), 2);
  Put(*file, 0, 1);
  Put(*file, 0, 1);
  EXPECT_FALSE(file->full());
  Put(*file, 1, 1);
  EXPECT_TRUE(file->full());
}

TEST_F(LevelFileTest, ARemovedOneStaysForThoseThatHaveIt) {
  const auto file = LevelFile::Make(path_, Shape(1), kKeys);
  Put(*file, 1, 4);
  EXPECT_FALSE(file->removed());
  file->Remove();
  EXPECT_TRUE(file->removed());
  EXPECT_EQ(LevelFile::Open(path_), nullptr);
  EXPECT_EQ(First(*file, 1), 4);
}

TEST_F(LevelFileTest, TakesDiskForRowsThatAreThereAlone) {
  const auto file = LevelFile::Make(path_, Shape(1 << 17), kKeys);
  struct stat before {
  }, after{};
  ASSERT_EQ(stat(path_.c_str(), &before), 0);
  EXPECT_EQ(before.st_size, LevelFile::BytesOf(Shape(1 << 17), kKeys));
  EXPECT_EQ(file->bytes(), before.st_size);
  EXPECT_LT(before.st_blocks * 512, 1 << 20);
  Put(*file, 2, 1);
  ASSERT_EQ(stat(path_.c_str(), &after), 0);
  EXPECT_GE(after.st_blocks * 512, 1 << 20);
  EXPECT_LT(after.st_blocks * 512, 2 << 20);
}

}  // namespace
}  // namespace freezepipe::worker
