#include "operator/identity/leaf_rotator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "operator/kube/eventually.h"
#include "operator/kube/read_file.h"

namespace freezepipe::identity {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LeafRotatorTest : public testing::Test {
 protected:
  LeafRotatorTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~LeafRotatorTest() override { fs::remove_all(folder_); }

  absl::StatusOr<std::unique_ptr<LeafRotator>> Start(std::chrono::seconds lifetime) {
    return LeafRotator::Start({.authority = authority_,
                               .dns_names = {"localhost"},
                               .file = folder_ / "server.pem",
                               .lifetime = lifetime},
                              [this](const absl::Status&) { ++errors_; });
  }
  std::string File() const { return kube::ReadFile(folder_ / "server.pem").value_or(""); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("leaf-" + std::to_string(getpid()));
  const PemIdentity authority_ = MakeAuthority(std::chrono::system_clock::now()).value();
  std::atomic<int> errors_ = 0;
};

TEST_F(LeafRotatorTest, TheFileIsThereOnceStarted_AndThisUsersAlone) {
  const auto rotator = Start(std::chrono::hours(1));
  ASSERT_TRUE(rotator.ok()) << rotator.status();
  EXPECT_THAT(File(), HasSubstr("BEGIN PRIVATE KEY"));
  EXPECT_THAT(File(), HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_EQ(fs::status(folder_ / "server.pem").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(LeafRotatorTest, IsRenewedBeforeItExpires) {
  const auto rotator = Start(std::chrono::seconds(1));
  ASSERT_TRUE(rotator.ok()) << rotator.status();
  const std::string first = File();
  EXPECT_TRUE(kube::Eventually([&] { return File() != first; }));
  EXPECT_THAT(File(), HasSubstr("BEGIN CERTIFICATE"));
}

TEST_F(LeafRotatorTest, WhatCantBeWrittenIsSaidAndTriedAgain) {
  const auto rotator = Start(std::chrono::seconds(1));
  ASSERT_TRUE(rotator.ok()) << rotator.status();
  fs::remove_all(folder_);
  EXPECT_TRUE(kube::Eventually([&] { return errors_ > 1; }));
  fs::create_directories(folder_);
  EXPECT_TRUE(kube::Eventually([&] { return !File().empty(); }));
}

TEST_F(LeafRotatorTest, DoesntStartWithoutAFile) {
  fs::remove_all(folder_);
  const absl::Status status = Start(std::chrono::hours(1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("server.pem"));
}

}  // namespace
}  // namespace freezepipe::identity
