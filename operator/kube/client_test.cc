#include "operator/kube/client.h"

#include <absl/strings/match.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kube/api_error.h"
#include "operator/kube/fake_api_server.h"
#include "operator/kube/interrupted_server.h"
#include "operator/kube/test_objects.h"

namespace freezepipe::kube {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

/// Remembers the one request, and answers as told.
class RecordingTransport : public Transport {
 public:
  absl::StatusOr<HttpResponse> Send(const HttpRequest& request, std::stop_token) override {
    this->request = request;
    return answer;
  }
  absl::StatusOr<HttpResponse> Stream(
      const HttpRequest& request, std::stop_token,
      absl::FunctionRef<void(std::string_view line)> on_line) override {
    this->request = request;
    for (const std::string& line : lines) on_line(line);
    return answer;
  }

  HttpRequest request;
  absl::StatusOr<HttpResponse> answer = HttpResponse{.code = 200, .body = "{}", .retry_after = {}};
  std::vector<std::string> lines;
};

class ClientRequests : public testing::Test {
 protected:
  const std::shared_ptr<RecordingTransport> transport_ = std::make_shared<RecordingTransport>();
  Client client_{transport_, {.timeout = seconds(7)}};
};

TEST_F(ClientRequests, Create) {
  ASSERT_TRUE(client_.Create(kPods, Pod("a")).ok());
  EXPECT_EQ(transport_->request.method, Method::kPost);
  EXPECT_EQ(transport_->request.target,
            "/api/v1/namespaces/train/pods?fieldManager=freezepipe-operator");
  EXPECT_EQ(transport_->request.content_type, "application/json");
  EXPECT_EQ(Json::parse(transport_->request.body), Pod("a"));
  EXPECT_EQ(transport_->request.timeout, seconds(7));
}

TEST_F(ClientRequests, DryRunIsStrictAboutFields) {
  ASSERT_TRUE(client_.Create(kPods, Pod("a"), {.dry_run = true}).ok());
  EXPECT_THAT(transport_->request.target, EndsWith("&dryRun=All&fieldValidation=Strict"));
}

TEST_F(ClientRequests, PatchesAndApply) {
  const Json patch = {{"status", {{"phase", "Running"}}}};
  ASSERT_TRUE(client_.PatchStatus(kPods, {"train", "a"}, patch).ok());
  EXPECT_EQ(transport_->request.method, Method::kPatch);
  EXPECT_EQ(transport_->request.target,
            "/api/v1/namespaces/train/pods/a/status?fieldManager=freezepipe-operator");
  EXPECT_EQ(transport_->request.content_type, "application/merge-patch+json");
  EXPECT_EQ(Json::parse(transport_->request.body), patch);
  ASSERT_TRUE(client_.Apply(kPods, Pod("a")).ok());
  EXPECT_EQ(transport_->request.target,
            "/api/v1/namespaces/train/pods/a?fieldManager=freezepipe-operator&force=true");
  EXPECT_EQ(transport_->request.content_type, "application/apply-patch+yaml");
}

TEST_F(ClientRequests, DeleteWithPreconditions) {
  ASSERT_TRUE(client_
                  .Delete(kPods, {"train", "a"},
                          {.propagation = Propagation::kForeground,
                           .uid = "u",
                           .resource_version = "7",
                           .grace_period_seconds = 0})
                  .ok());
  EXPECT_EQ(transport_->request.method, Method::kDelete);
  EXPECT_EQ(Json::parse(transport_->request.body), Json::parse(R"({
      "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground",
      "gracePeriodSeconds": 0, "preconditions": {"uid": "u", "resourceVersion": "7"}})"));
}

TEST_F(ClientRequests, ListItemsSayWhatTheyAre) {
  transport_->answer->body = R"({"apiVersion": "v1", "kind": "PodList",
      "metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "a"}}]})";
  const auto list = client_.List(kPods, {.labels = "app=x"});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(transport_->request.target, "/api/v1/pods?labelSelector=app%3Dx&limit=500");
  EXPECT_EQ(list->items[0]["kind"], "Pod");
  EXPECT_EQ(list->items[0]["apiVersion"], "v1");
  EXPECT_EQ(list->resource_version, "7");
}

TEST_F(ClientRequests, Watch) {
  transport_->lines = {R"({"type": "ADDED", "object": {"metadata": {"name": "a"}}})",
                       R"({"type": "BOOKMARK", "object": {}})"};
  std::vector<WatchEvent::Type> types;
  EXPECT_TRUE(client_
                  .Watch(kPods, {.selection = {.ns = "train"}, .resource_version = "7"}, {},
                         [&](WatchEvent event) { types.push_back(event.type); })
                  .ok());
  EXPECT_EQ(transport_->request.target,
            "/api/v1/namespaces/train/pods?watch=true&allowWatchBookmarks=true&resourceVersion=7"
            "&timeoutSeconds=300");
  EXPECT_THAT(types, ElementsAre(WatchEvent::Type::kAdded, WatchEvent::Type::kBookmark));
}

TEST_F(ClientRequests, NothingCountsAfterAnErrorInTheStream) {
  transport_->lines = {R"({"type": "ERROR", "object": {"code": 410, "reason": "Expired"}})",
                       R"({"type": "ADDED", "object": {"metadata": {"name": "a"}}})"};
  int events = 0;
  const absl::Status status = client_.Watch(kPods, {}, {}, [&](WatchEvent) { ++events; });
  EXPECT_TRUE(IsGone(status)) << status;
  EXPECT_EQ(events, 0);
}

TEST_F(ClientRequests, ErrorsSayWhatWasBeingDone) {
  transport_->answer = absl::UnavailableError("https://10.0.0.1: connection refused");
  EXPECT_EQ(client_.Get(kPods, {"train", "a"}).status(),
            absl::UnavailableError("get pods train/a: https://10.0.0.1: connection refused"));
  transport_->answer = HttpResponse{.code = 429, .body = {}, .retry_after = seconds(4)};
  EXPECT_EQ(RetryAfter(client_.Get(kPods, {"train", "a"}).status()), seconds(4));
  transport_->answer = HttpResponse{.code = 200, .body = "<html>", .retry_after = {}};
  EXPECT_TRUE(absl::IsDataLoss(client_.Get(kPods, {"train", "a"}).status()));
}

TEST_F(ClientRequests, TheRateLimitHoldsUpAndTells) {
  std::vector<Duration> waits;
  Client slow(transport_, {.requests_per_second = 20,
                           .on_throttled = [&](Duration wait) { waits.push_back(wait); }});
  const TimePoint begun = SteadyClock::now();
  for (int i = 0; i < 24; ++i) ASSERT_TRUE(slow.Get(kPods, {"train", "a"}).ok());
  // 20 at once, then one every 50 ms.
  EXPECT_GE(SteadyClock::now() - begun, std::chrono::milliseconds(190));
  EXPECT_GE(waits.size(), 1u);
  EXPECT_LE(waits.size(), 4u);
}

TEST_F(ClientRequests, StopEndsTheWaitForATurn) {
  std::stop_source stop;
  Client slow(transport_, {.requests_per_second = 0.001,
                           .on_throttled = [&](Duration) { stop.request_stop(); },
                           .stop = stop.get_token()});
  // The burst is below one.
  EXPECT_TRUE(absl::IsCancelled(slow.Get(kPods, {"train", "a"}).status()));
}

class ClientAndServer : public testing::Test {
 protected:
  const std::shared_ptr<FakeApiServer> server_ = std::make_shared<FakeApiServer>();
  Client client_{server_, {.requests_per_second = 1e6}};
};

TEST_F(ClientAndServer, ListsAllPages) {
  for (int i = 0; i < 1234; ++i) {
    ASSERT_TRUE(client_.Create(kPods, Pod("pod-" + std::to_string(i))).ok());
  }
  const size_t before = server_->Requests().size();
  const auto list = client_.List(kPods, {.ns = "train"});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->items.size(), 1234u);
  EXPECT_EQ(server_->Requests().size() - before, 3u);
}

TEST_F(ClientAndServer, AContinueTokenTooOldStartsOverInOnePage) {
  for (int i = 0; i < 501; ++i) {
    ASSERT_TRUE(client_.Create(kPods, Pod("pod-" + std::to_string(i))).ok());
  }
  // The first page is served, the second refused.
  const auto refuse = [](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (!absl::StrContains(request.target, "continue=")) return std::nullopt;
    return HttpResponse{.code = 410, .body = {}, .retry_after = {}};
  };
  Client client(std::make_shared<InterruptedServer>(server_, refuse), {});
  const auto list = client.List(kPods, {.ns = "train"});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->items.size(), 501u);
}

TEST_F(ClientAndServer, ReasonsComeThrough) {
  ASSERT_TRUE(client_.Create(kPods, Pod("a")).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(client_.Create(kPods, Pod("a")).status()));
  EXPECT_TRUE(absl::IsNotFound(client_.Get(kPods, {"train", "b"}).status()));
  EXPECT_TRUE(IsConflict(client_.Patch(kPods, {"train", "a"}, Pod("a", "1")).status()));
  EXPECT_TRUE(IsConflict(client_.Delete(kPods, {"train", "a"}, {.uid = "another"})));
  EXPECT_TRUE(client_.Delete(kPods, {"train", "a"}).ok());
  EXPECT_TRUE(absl::IsNotFound(client_.Delete(kPods, {"train", "a"})));
}

}  // namespace
}  // namespace freezepipe::kube
