#include "operator/kube/reflector_policy.h"

#include <gtest/gtest.h>

#include "operator/kube/api_error.h"

namespace freezepipe::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kNow{seconds(1000)};
constexpr milliseconds kFirstWait(800);

ReflectorPolicy Policy(double chance = 0) {
  return ReflectorPolicy([chance] { return chance; });
}

ReflectorPolicy::Next AfterWatch(absl::Status status, Duration lasted = minutes(1),
                                 bool brought_events = true) {
  ReflectorPolicy policy = Policy();
  return policy.AfterWatch(
      {.status = std::move(status), .lasted = lasted, .brought_events = brought_events}, kNow);
}

TEST(ReflectorPolicy, AWatchThatEndedInOrderGoesOnAtOnce) {
  for (const auto& next :
       {AfterWatch(absl::OkStatus()), AfterWatch(absl::OkStatus(), minutes(5), false),
        AfterWatch(absl::OkStatus(), milliseconds(10), true)}) {
    EXPECT_FALSE(next.list);
    EXPECT_EQ(next.wait, Duration::zero());
  }
}

TEST(ReflectorPolicy, AnEmptyEarlyEndIsFollowedByAListAfterAWait) {
  const auto next = AfterWatch(absl::OkStatus(), milliseconds(10), false);
  EXPECT_TRUE(next.list);
  EXPECT_EQ(next.wait, kFirstWait);
}

TEST(ReflectorPolicy, TooOldMeansList) {
  const auto next = AfterWatch(ApiError(410, "", "watch"));
  EXPECT_TRUE(next.list);
  EXPECT_EQ(next.wait, kFirstWait);
}

TEST(ReflectorPolicy, LostConnectionsAndBusyServersLeaveTheVersionAlone) {
  for (const absl::Status& status :
       {absl::UnavailableError("lost"), absl::DeadlineExceededError("silent"),
        ApiError(429, "", "watch"), ApiError(503, "", "watch")}) {
    const auto next = AfterWatch(status);
    EXPECT_FALSE(next.list) << status;
    EXPECT_EQ(next.wait, kFirstWait);
  }
}

TEST(ReflectorPolicy, WhateverElseLeavesDoubtMeansList) {
  // 504: also said of a version that the server has never had, after etcd was restored.
  for (const absl::Status& status : {ApiError(504, "", "watch"), ApiError(500, "", "watch"),
                                     ApiError(403, "", "watch"), absl::DataLossError("no event")}) {
    EXPECT_TRUE(AfterWatch(status).list) << status;
  }
}

TEST(ReflectorPolicy, WaitsAsLongAsTheServerAsks) {
  const absl::Status busy = ApiError(429, "", "watch", seconds(7));
  EXPECT_EQ(AfterWatch(busy).wait, seconds(7));
}

TEST(ReflectorPolicy, FailuresFarApartDontAddUpAndOthersDo) {
  ReflectorPolicy policy = Policy();
  EXPECT_EQ(policy.AfterList(absl::UnavailableError(""), kNow).wait, kFirstWait);
  EXPECT_EQ(policy.AfterList(absl::UnavailableError(""), kNow + seconds(1)).wait, 2 * kFirstWait);
  EXPECT_EQ(
      policy.AfterWatch({absl::UnavailableError(""), seconds(1), true}, kNow + seconds(3)).wait,
      4 * kFirstWait);
  EXPECT_TRUE(policy.AfterList(absl::UnavailableError(""), kNow + minutes(10)).list);
  EXPECT_EQ(policy.AfterList(absl::OkStatus(), kNow + minutes(10)).wait, Duration::zero());
}

TEST(ReflectorPolicy, WatchesLast5To10Minutes) {
  EXPECT_EQ(Policy(0).WatchDuration(), minutes(5));
  EXPECT_EQ(Policy(0.5).WatchDuration(), seconds(450));
  EXPECT_LE(Policy(0.999).WatchDuration(), minutes(10));
}

}  // namespace
}  // namespace freezepipe::kube
