#include "operator/kube/leader_elector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "operator/kube/eventually.h"
#include "operator/kube/fake_api_server.h"

namespace freezepipe::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr char kPath[] = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/freezepipe";

/// One process that wants to lead.
struct Candidate {
  Candidate(std::shared_ptr<Transport> server, const std::string& identity)
      : elector(
            std::move(server),
            {.lease = {"ns", "freezepipe"},
             .identity = identity,
             .lease_duration = seconds(2),
             .renew_deadline = milliseconds(1000),
             .retry_period = milliseconds(20)},
            [this](int64_t term) { elected = term; },
            [this](const std::string& why) {
              std::lock_guard lock(mutex);
              lost = why;
            },
            [](const absl::Status&) {}) {}

  std::string Lost() {
    std::lock_guard lock(mutex);
    return lost;
  }

  std::atomic<int64_t> elected = -1;
  /// Guards lost.
  std::mutex mutex;
  std::string lost;
  LeaderElector elector;
};

class LeaderElectorTest : public testing::Test {
 protected:
  std::unique_ptr<Candidate> Start(const std::string& identity) {
    return std::make_unique<Candidate>(server_, identity);
  }
  std::string Holder() { return ReadLease(server_->Find(kPath).value_or(Json())).holder; }

  const std::shared_ptr<FakeApiServer> server_ = std::make_shared<FakeApiServer>();
};

TEST_F(LeaderElectorTest, OneLeadsTheOtherWaitsAndFollowsAtOnceAfterARelease) {
  const auto first = Start("first");
  ASSERT_TRUE(Eventually([&] { return first->elected == 0; }));
  EXPECT_EQ(first->elector.Term(), 0);
  const auto second = Start("second");
  const size_t requests = server_->Requests().size();
  ASSERT_TRUE(Eventually([&] { return server_->Requests().size() > requests + 10; }));
  EXPECT_EQ(second->elector.Term(), std::nullopt);
  EXPECT_TRUE(first->elector.Release().ok());
  EXPECT_EQ(first->elector.Term(), std::nullopt);
  EXPECT_TRUE(Eventually([&] { return second->elected == 1; }));
  EXPECT_EQ(Holder(), "second");
  EXPECT_EQ(first->Lost(), "");
  // Nothing to give up any more.
  EXPECT_TRUE(first->elector.Release().ok());
  EXPECT_EQ(Holder(), "second");
}

TEST_F(LeaderElectorTest, AnotherTakesOverWhenTheLeaderIsSilent) {
  auto first = Start("first");
  ASSERT_TRUE(Eventually([&] { return first->elected == 0; }));
  first.reset();
  EXPECT_EQ(Holder(), "first");
  const auto second = Start("second");
  EXPECT_TRUE(Eventually([&] { return second->elected == 1; }));
}

TEST_F(LeaderElectorTest, ALeaderThatCannotRenewIsToldSo) {
  const auto leader = Start("leader");
  ASSERT_TRUE(Eventually([&] { return leader->elected == 0; }));
  server_->SetAway(true);
  ASSERT_TRUE(Eventually([&] { return leader->Lost() != ""; }));
  EXPECT_THAT(leader->Lost(), HasSubstr("not renewed in time"));
  EXPECT_EQ(leader->elector.Term(), std::nullopt);
}

TEST_F(LeaderElectorTest, ALeaderThatFindsAnotherInItsPlaceIsToldSo) {
  const auto leader = Start("leader");
  ASSERT_TRUE(Eventually([&] { return leader->elected == 0; }));
  Client client(server_, {});
  ASSERT_TRUE(client
                  .Patch({"coordination.k8s.io", "v1", "leases"}, {"ns", "freezepipe"},
                         {{"spec", {{"holderIdentity", "usurper"}}}})
                  .ok());
  ASSERT_TRUE(Eventually([&] { return leader->Lost() != ""; }));
  EXPECT_EQ(leader->Lost(), "taken over by usurper");
}

TEST_F(LeaderElectorTest, ATermMayBeRaised) {
  const auto leader = Start("leader");
  ASSERT_TRUE(Eventually([&] { return leader->elected == 0; }));
  leader->elector.RaiseTerm(5);
  EXPECT_TRUE(Eventually([&] { return leader->elector.Term() == 5; }));
  EXPECT_EQ(ReadLease(*server_->Find(kPath)).transitions, 5);
  EXPECT_EQ(leader->Lost(), "");
}

TEST_F(LeaderElectorTest, BriefTroubleIsGotOver) {
  const auto leader = Start("leader");
  ASSERT_TRUE(Eventually([&] { return leader->elected == 0; }));
  server_->FailNext(HttpResponse{.code = 500, .body = {}, .retry_after = {}}, 3);
  const size_t requests = server_->Requests().size();
  ASSERT_TRUE(Eventually([&] { return server_->Requests().size() > requests + 10; }));
  EXPECT_EQ(leader->Lost(), "");
  EXPECT_EQ(leader->elector.Term(), 0);
}

TEST(UniqueIdentity, Differs) { EXPECT_NE(UniqueIdentity(), UniqueIdentity()); }

}  // namespace
}  // namespace freezepipe::kube
