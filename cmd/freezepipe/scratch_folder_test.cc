#include "cmd/freezepipe/scratch_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "files/test_folder.h"

namespace freezepipe::cli {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolderTest, GoesWithItsOwner) {
  const files::TestFolder parent;
  auto folder = ScratchFolder::Make(parent.path());
  ASSERT_TRUE(folder.ok()) << folder.status();
  std::ofstream((*folder)->path() / "file") << "content";
  folder->reset();
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST(ScratchFolderTest, OneInUseStays) {
  const files::TestFolder parent;
  const auto first = ScratchFolder::Make(parent.path()).value();
  const auto second = ScratchFolder::Make(parent.path()).value();
  EXPECT_NE(first->path(), second->path());
  EXPECT_TRUE(fs::exists(first->path()));
}

TEST(ScratchFolderTest, WhatAKilledProcessLeftIsRemovedByTheNext) {
  const files::TestFolder parent;
  std::ofstream(parent.path() / "else") << "not ours";
  const pid_t child = fork();
  if (child == 0) {
    const auto folder = ScratchFolder::Make(parent.path()).value();
    std::ofstream(folder->path() / "file") << "content";
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  const auto entries = [&] {
    return std::distance(fs::directory_iterator(parent.path()), fs::directory_iterator());
  };
  ASSERT_EQ(entries(), 2);
  const auto folder = ScratchFolder::Make(parent.path()).value();
  EXPECT_EQ(entries(), 2);
  EXPECT_TRUE(fs::is_empty(folder->path()));
  EXPECT_TRUE(fs::exists(parent.path() / "else"));
}

TEST(ScratchFolderTest, SaysWhereItCannotBeMade) {
  const auto folder = ScratchFolder::Make("/no/such/folder");
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.status().message().find("/no/such/folder"), std::string::npos);
}

}  // namespace
}  // namespace freezepipe::cli
