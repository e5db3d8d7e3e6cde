#include "operator/identity/token_review_authenticator.h"

#include <absl/strings/match.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "operator/cluster/kubernetes/job_pod.h"
#include "operator/cluster/kubernetes/labels.h"
#include "operator/cluster/kubernetes/test_jobs.h"
#include "operator/kube/fake_api_server.h"

namespace freezepipe::identity {
namespace {

using absl::StatusCode;
using kube::Json;
using testing::HasSubstr;

/// An API server that knows one token.
class ReviewingServer : public kube::Transport {
 public:
  absl::StatusOr<kube::HttpResponse> Send(const kube::HttpRequest& request,
                                          std::stop_token stop) override {
    if (!absl::StrContains(request.target, "/authentication.k8s.io/v1/tokenreviews")) {
      return server_.Send(request, stop);
    }
    std::lock_guard lock(mutex_);
    ++reviews_;
    if (away_) return absl::UnavailableError("the server is away");
    Json review = Json::parse(request.body);
    asked_ = review["spec"];
    review["status"] = review["spec"]["token"] == "good"
                           ? status_
                           : Json{{"authenticated", false}, {"error", "who is that?"}};
    return kube::HttpResponse{.code = 201, .body = review.dump(), .retry_after = {}};
  }
  absl::StatusOr<kube::HttpResponse> Stream(
      const kube::HttpRequest& request, std::stop_token stop,
      absl::FunctionRef<void(std::string_view line)> on_line) override {
    return server_.Stream(request, stop, on_line);
  }

  void Set(Json status) {
    std::lock_guard lock(mutex_);
    status_ = std::move(status);
  }
  void SetAway(bool away) {
    std::lock_guard lock(mutex_);
    away_ = away;
  }
  int reviews() {
    std::lock_guard lock(mutex_);
    return reviews_;
  }
  Json asked() {
    std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  kube::FakeApiServer server_;
  /// Guards all below.
  std::mutex mutex_;
  Json status_;
  Json asked_;
  bool away_ = false;
  int reviews_ = 0;
};

class TokenReviewAuthenticatorTest : public testing::Test {
 protected:
  TokenReviewAuthenticatorTest() { server_->Set(ReviewOf("pod-uid-1")); }

  static Json ReviewOf(const std::string& uid) {
    return {{"authenticated", true},
            {"audiences", {kTokenAudience}},
            {"user",
             {{"username", "system:serviceaccount:train:default"},
              {"extra",
               {{"authentication.kubernetes.io/pod-name", {"fashion-1-0"}},
                {"authentication.kubernetes.io/pod-uid", {uid}}}}}}};
  }

  static Json RunningPod() {
    Json pod = cluster::MakeWorkerPod(cluster::TestJob(), 1, 0, {});
    pod["metadata"]["uid"] = "pod-uid-1";
    pod["status"] = {{"phase", "Running"}};
    return pod;
  }

  v1alpha1::Hello Hello(int worker = 1) const {
    v1alpha1::Hello hello;
    hello.set_job(cluster::JobId(cluster::TestJob()));
    hello.set_worker(worker);
    return hello;
  }

  absl::Status Ask(const v1alpha1::Hello& hello, const std::string& token = "good") {
    std::promise<absl::Status> answer;
    authenticator_.Authenticate(token, hello,
                                [&](absl::Status status) { answer.set_value(std::move(status)); });
    return answer.get_future().get();
  }

  void ExpectRefused(StatusCode code, const std::string& words, const absl::Status& status) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }

  const std::shared_ptr<ReviewingServer> server_ = std::make_shared<ReviewingServer>();
  kube::Client client_{server_, {}};
  /// The one that is known; changed between questions alone.
  Json pod_ = RunningPod();
  TokenReviewAuthenticator authenticator_{
      client_, [this](const std::string& uid) {
        return uid == kube::Uid(pod_) ? std::make_shared<const Json>(pod_) : nullptr;
      }};
};

TEST_F(TokenReviewAuthenticatorTest, AcceptsAPodThatSpeaksForItself) {
  EXPECT_TRUE(Ask(Hello()).ok());
  EXPECT_EQ(server_->asked(), (Json{{"token", "good"}, {"audiences", {kTokenAudience}}}));
}

TEST_F(TokenReviewAuthenticatorTest, AGoodTokenIsRememberedForAWhile_ABadOneIsNot) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Ask(Hello()).ok());
  EXPECT_EQ(server_->reviews(), 1);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Ask(Hello(), "bad").ok());
  EXPECT_EQ(server_->reviews(), 4);
}

TEST_F(TokenReviewAuthenticatorTest, ATokenThatTheApiServerRefuses) {
  ExpectRefused(StatusCode::kUnauthenticated, "who is that?", Ask(Hello(), "bad"));
}

TEST_F(TokenReviewAuthenticatorTest, ATokenThatIsMeantForOthers) {
  Json review = ReviewOf("pod-uid-1");
  review["audiences"] = {"https://kubernetes.default.svc"};
  server_->Set(review);
  ExpectRefused(StatusCode::kUnauthenticated, kTokenAudience, Ask(Hello()));
  review.erase("audiences");
  server_->Set(review);
  ExpectRefused(StatusCode::kUnauthenticated, kTokenAudience, Ask(Hello()));
}

TEST_F(TokenReviewAuthenticatorTest, ATokenThatIsNoPods) {
  Json review = ReviewOf("pod-uid-1");
  review["user"].erase("extra");
  server_->Set(review);
  ExpectRefused(StatusCode::kPermissionDenied, "bound to a pod", Ask(Hello()));
}

TEST_F(TokenReviewAuthenticatorTest, APodOfAnotherJob) {
  v1alpha1::Hello hello = Hello();
  hello.set_job("train/fashion/of-another-uid");
  ExpectRefused(StatusCode::kPermissionDenied, "isn't of job train/fashion/of-another-uid",
                Ask(hello));
  pod_["metadata"]["namespace"] = "elsewhere";
  ExpectRefused(StatusCode::kPermissionDenied, "isn't of job", Ask(Hello()));
}

TEST_F(TokenReviewAuthenticatorTest, AnotherWorkersNumber) {
  ExpectRefused(StatusCode::kPermissionDenied, "isn't worker 0", Ask(Hello(0)));
  pod_["metadata"]["labels"].erase(cluster::kWorkerLabel);
  ExpectRefused(StatusCode::kPermissionDenied, "isn't worker 1", Ask(Hello(1)));
}

// The token was found good a moment ago.
TEST_F(TokenReviewAuthenticatorTest, AnAttemptThatHasEnded) {
  EXPECT_TRUE(Ask(Hello()).ok());
  pod_["status"]["phase"] = "Failed";
  ExpectRefused(StatusCode::kPermissionDenied, "has ended", Ask(Hello()));
  EXPECT_EQ(server_->reviews(), 1);
}

TEST_F(TokenReviewAuthenticatorTest, AnAttemptWhoseNodeHasNotEndedItInTime) {
  const auto deleted_at = [&](const std::string& time) {
    pod_["metadata"]["deletionTimestamp"] = time;
  };
  deleted_at("2200-01-01T00:00:00Z");
  EXPECT_TRUE(Ask(Hello()).ok()) << "it has its grace period";
  deleted_at("2023-11-14T22:13:20Z");
  ExpectRefused(StatusCode::kPermissionDenied, "lost with its node", Ask(Hello()));
}

TEST_F(TokenReviewAuthenticatorTest, APodThatIsntKnownYet_ComesAgain) {
  const Json known = std::exchange(pod_, Json::object());
  ExpectRefused(StatusCode::kUnavailable, "fashion-1-0", Ask(Hello()));
  pod_ = known;
  EXPECT_TRUE(Ask(Hello()).ok());
}

TEST_F(TokenReviewAuthenticatorTest, WithoutTheApiServerNothingCanBeTold) {
  server_->SetAway(true);
  ExpectRefused(StatusCode::kUnavailable, "API server", Ask(Hello()));
  server_->SetAway(false);
  EXPECT_TRUE(Ask(Hello()).ok());
}

TEST_F(TokenReviewAuthenticatorTest, EveryHelloIsAnswered) {
  std::atomic<int> answers = 0;
  {
    TokenReviewAuthenticator authenticator(client_,
                                           [](const std::string&) { return kube::Object(); });
    for (int i = 0; i < 500; ++i) {
      authenticator.Authenticate("good", Hello(), [&](const absl::Status& status) {
        EXPECT_EQ(status.code(), StatusCode::kUnavailable);
        ++answers;
      });
    }
  }
  EXPECT_EQ(answers, 500);
}

}  // namespace
}  // namespace freezepipe::identity
