#include "operator/kube/reflector.h"

#include <absl/strings/match.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "operator/kube/api_error.h"
#include "operator/kube/eventually.h"
#include "operator/kube/fake_api_server.h"
#include "operator/kube/test_objects.h"

namespace freezepipe::kube {
namespace {

class ReflectorTest : public testing::Test {
 protected:
  ReflectorTest() {
    cache_.AddHandler([this](const Change& change) {
      if (change.kind == Change::Kind::kDeleted) ++deletions_;
    });
  }

  void Start() {
    reflector_.emplace(client_, kPods, Selection{.ns = "train"}, cache_,
                       [this](const absl::Status& error) {
                         std::lock_guard lock(mutex_);
                         errors_.push_back(error);
                       });
    ASSERT_TRUE(cache_.WaitUntilSynced({}));
  }

  void Create(const std::string& name) { ASSERT_TRUE(client_.Create(kPods, Pod(name)).ok()); }
  void Delete(const std::string& name) { ASSERT_TRUE(client_.Delete(kPods, {"train", name}).ok()); }
  bool Has(const std::string& name) { return cache_.Get({"train", name}) != nullptr; }

  int Lists() {
    const auto requests = server_->Requests();
    return std::count_if(requests.begin(), requests.end(), [](const std::string& request) {
      return absl::StartsWith(request, "GET") && !absl::StrContains(request, "watch=true");
    });
  }

  std::vector<absl::Status> Errors() {
    std::lock_guard lock(mutex_);
    return errors_;
  }

  const std::shared_ptr<FakeApiServer> server_ = std::make_shared<FakeApiServer>();
  Client client_{server_, {}};
  Cache cache_;
  std::atomic<int> deletions_ = 0;
  /// Guards errors_.
  std::mutex mutex_;
  std::vector<absl::Status> errors_;
  std::optional<Reflector> reflector_;
};

TEST_F(ReflectorTest, ListsThenFollows) {
  Create("a");
  Start();
  EXPECT_TRUE(Has("a"));
  Create("b");
  EXPECT_TRUE(Eventually([&] { return Has("b"); }));
  Delete("a");
  EXPECT_TRUE(Eventually([&] { return !Has("a"); }));
  EXPECT_EQ(Lists(), 1);
}

TEST_F(ReflectorTest, GoesOnAfterTheServerWasAwayWithoutListing) {
  Create("a");
  Start();
  server_->SetAway(true);
  ASSERT_TRUE(Eventually([&] { return !Errors().empty(); }));
  server_->SetAway(false);
  Create("b");
  EXPECT_TRUE(Eventually([&] { return Has("b"); }));
  EXPECT_EQ(Lists(), 1);
  EXPECT_TRUE(absl::IsUnavailable(Errors()[0]));
}

TEST_F(ReflectorTest, ListsAnewWhenTooOldAndTellsWhatWasDeletedMeanwhile) {
  Create("a");
  Create("b");
  Start();
  server_->SetAway(true);
  ASSERT_TRUE(Eventually([&] { return !Errors().empty(); }));
  // The reflector's next try comes after its back-off; by then history is gone.
  server_->SetAway(false);
  Delete("a");
  Create("c");
  server_->Compact();
  EXPECT_TRUE(Eventually([&] { return !Has("a") && Has("c"); }));
  // Handlers are told after the change can be read.
  EXPECT_TRUE(Eventually([&] { return deletions_ == 1; }));
  EXPECT_TRUE(Has("b"));
}

TEST_F(ReflectorTest, ListsAnewAfterAGoneInTheMiddleOfAWatch) {
  Create("a");
  Start();
  ASSERT_TRUE(Eventually([&] {
    const auto requests = server_->Requests();
    return absl::StrContains(requests.back(), "watch=true");
  }));
  server_->Compact();
  ASSERT_TRUE(Eventually([&] { return !Errors().empty(); }));
  EXPECT_TRUE(IsGone(Errors()[0]));
  Create("b");
  EXPECT_TRUE(Eventually([&] { return Has("b"); }));
  EXPECT_EQ(Lists(), 2);
}

TEST_F(ReflectorTest, KeepsTryingToList) {
  server_->FailNext(HttpResponse{.code = 503, .body = {}, .retry_after = {}});
  Start();
  ASSERT_EQ(Errors().size(), 1u);
  EXPECT_EQ(Reason(Errors()[0]), "ServiceUnavailable");
}

TEST_F(ReflectorTest, EndsInTheMiddleOfAWatch) {
  Start();
  reflector_.reset();
  EXPECT_TRUE(Errors().empty());
}

}  // namespace
}  // namespace freezepipe::kube
