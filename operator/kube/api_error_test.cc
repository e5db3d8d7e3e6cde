#include "operator/kube/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kube/watch_event.h"

namespace freezepipe::kube {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

std::string Body(int code, const std::string& reason, const std::string& message) {
  return Json{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}}.dump();
}

TEST(ApiError, KeepsTheServersReasonAndWords) {
  const absl::Status status =
      ApiError(409, Body(409, "Conflict", "object was modified"), "patch pods train/a");
  EXPECT_EQ(status.code(), StatusCode::kAborted);
  EXPECT_EQ(status.message(), "patch pods train/a: object was modified");
  EXPECT_EQ(Reason(status), "Conflict");
  EXPECT_TRUE(IsConflict(status));
  EXPECT_FALSE(IsGone(status));
}

TEST(ApiError, TellsTwoReasonsOfOneCodeApart) {
  const absl::Status status = ApiError(409, Body(409, "AlreadyExists", "there"), "create");
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  EXPECT_FALSE(IsConflict(status));
  EXPECT_TRUE(IsGone(ApiError(410, Body(410, "Expired", "too old"), "list")));
  EXPECT_TRUE(IsGone(ApiError(410, Body(410, "Gone", "too old"), "list")));
  EXPECT_TRUE(IsInvalid(ApiError(422, Body(422, "Invalid", "spec.x"), "create")));
  EXPECT_TRUE(IsInvalid(ApiError(400, Body(400, "BadRequest", "unknown field"), "create")));
}

TEST(ApiError, AnAnswerWithoutAStatusGoesByItsCode) {
  const absl::Status status = ApiError(404, "<html>nothing here</html>", "get");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(Reason(status), "NotFound");
  EXPECT_THAT(std::string(status.message()), HasSubstr("nothing here"));
  EXPECT_TRUE(IsConflict(ApiError(409, "", "patch")));
  EXPECT_TRUE(IsGone(ApiError(410, "", "watch")));
  EXPECT_EQ(ApiError(418, "", "get").code(), StatusCode::kUnknown);
}

TEST(ApiError, SaysHowLongToWait) {
  EXPECT_EQ(RetryAfter(ApiError(429, "", "get", std::chrono::seconds(3))), std::chrono::seconds(3));
  const std::string body =
      R"({"kind": "Status", "code": 500, "reason": "ServerTimeout", "details": {"retryAfterSeconds": 2}})";
  EXPECT_EQ(RetryAfter(ApiError(500, body, "get")), std::chrono::seconds(2));
  EXPECT_EQ(RetryAfter(absl::UnavailableError("")), std::nullopt);
}

TEST(WatchEvent, IsReadByType) {
  const auto event =
      ParseWatchEvent(R"({"type": "MODIFIED", "object": {"metadata": {"name": "a"}}})", "watch");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, WatchEvent::Type::kModified);
  EXPECT_EQ(KeyOf(event->object).name, "a");
}

TEST(WatchEvent, ErrorInTheStreamIsTheSameStatusAsAnHttpOne) {
  const auto event = ParseWatchEvent(
      R"({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired",
          "message": "too old resource version"}})",
      "watch pods");
  EXPECT_TRUE(IsGone(event.status()));
  EXPECT_EQ(event.status(),
            ApiError(410, Body(410, "Expired", "too old resource version"), "watch pods"));
}

TEST(WatchEvent, WhatIsNoEventIsDataLoss) {
  for (const char* line : {"", "{", "[]", R"({"type": "ADDED"})", R"({"type": "X", "object": {}})",
                           R"({"type": "ADDED", "object": 3})"}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseWatchEvent(line, "watch").status())) << line;
  }
}

}  // namespace
}  // namespace freezepipe::kube
