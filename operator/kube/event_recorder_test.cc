#include "operator/kube/event_recorder.h"

#include <absl/strings/match.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "operator/kube/eventually.h"
#include "operator/kube/fake_api_server.h"
#include "operator/kube/test_objects.h"

namespace freezepipe::kube {
namespace {

class EventRecorderTest : public testing::Test {
 protected:
  void Record(const std::string& note) {
    recorder_->Record(Pod("a", "1", "ua"),
                      {.reason = "Released", .action = "Repartition", .note = note});
  }

  std::vector<Json> Written() {
    Client client(server_, {});
    auto list = client.List({"events.k8s.io", "v1", "events"}, {});
    return list.ok() ? list->items : std::vector<Json>();
  }

  int Posts() {
    const auto requests = server_->Requests();
    return std::count_if(requests.begin(), requests.end(), [](const std::string& request) {
      return absl::StartsWith(request, "POST");
    });
  }

  const std::shared_ptr<FakeApiServer> server_ = std::make_shared<FakeApiServer>();
  Client client_{server_, {}};
  std::atomic<int> errors_ = 0;
  std::optional<EventRecorder> recorder_{std::in_place, client_, "freezepipe.io/operator", "test",
                                         [this](const absl::Status&) { ++errors_; }};
};

TEST_F(EventRecorderTest, WritesAndCounts) {
  Record("x");
  Record("x");
  Record("y");
  ASSERT_TRUE(Eventually([&] {
    const auto events = Written();
    return events.size() == 2 && (events[0].contains("series") || events[1].contains("series"));
  }));
  EXPECT_EQ(errors_, 0);
}

TEST_F(EventRecorderTest, TriesOnceMoreWhenItEnds) {
  server_->SetAway(true);
  Record("x");
  ASSERT_TRUE(Eventually([&] { return Posts() == 1; }));
  server_->SetAway(false);
  recorder_.reset();
  EXPECT_EQ(Written().size(), 1u);
  EXPECT_EQ(errors_, 0);
}

TEST_F(EventRecorderTest, GivesUpWhatTheServerDoesNotAccept) {
  server_->FailNext(HttpResponse{.code = 422, .body = {}, .retry_after = {}});
  Record("x");
  Record("y");
  EXPECT_TRUE(Eventually([&] { return errors_ == 1 && Written().size() == 1; }));
}

TEST_F(EventRecorderTest, DropsWhatIsTooMuch) {
  server_->SetAway(true);
  for (int i = 0; i < 1010; ++i) Record(std::to_string(i));
  EXPECT_EQ(errors_, 10);
}

}  // namespace
}  // namespace freezepipe::kube
