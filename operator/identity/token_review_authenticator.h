#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "operator/coordinator/authenticator.h"
#include "operator/kube/client.h"

namespace freezepipe::identity {

/// Whom workers' tokens are meant for.
inline constexpr char kTokenAudience[] = "freezepipe-coordinator";

struct TokenReviewOptions {
  std::string audience = kTokenAudience;
  /// Reviews at once.
  int threads = 8;
  /// A review that the API server didn't do, and why.
  std::function<void(const absl::Status&)> on_error = [](const absl::Status&) {};
};

/// Accepts a token that the API server knows as that of a pod, for the audience, if this is a
/// living pod of the Hello's job and worker: a pod speaks for itself alone. A token that was found
/// good isn't reviewed again for a minute; its pod is looked at every time. Thread-safe.
class TokenReviewAuthenticator : public coordinator::Authenticator {
 public:
  /// The pod of this uid as last heard of, null if it isn't known. Called on any thread.
  using FindPod = std::function<kube::Object(const std::string& uid)>;

  /// `client` outlives it; its rate limit is that of reviews.
  TokenReviewAuthenticator(kube::Client& client, FindPod find_pod, TokenReviewOptions options = {});
  /// Waits for the reviews under way (a client that was stopped ends them at once); the Hellos that
  /// still wait for theirs are answered UNAVAILABLE.
  ~TokenReviewAuthenticator() override;

  void Authenticate(const std::string& token, const v1alpha1::Hello& hello,
                    std::function<void(absl::Status)> done) override;

 private:
  struct Question {
    std::string token;
    v1alpha1::Hello hello;
    std::function<void(absl::Status)> done;
  };
  /// What a good token says.
  struct PodIdentity {
    std::string name;
    std::string uid;
  };
  struct Reviewed {
    PodIdentity pod;
    kube::TimePoint until;
  };

  void Run(const std::stop_token& stop);
  absl::Status Answer(const Question& question);
  absl::StatusOr<PodIdentity> Identify(const std::string& token);
  absl::StatusOr<PodIdentity> Review(const std::string& token);
  std::optional<PodIdentity> Remembered(const std::string& digest);
  void Remember(const std::string& digest, const PodIdentity& pod);

  kube::Client& client_;
  const FindPod find_pod_;
  const TokenReviewOptions options_;
  /// Guards all below.
  std::mutex mutex_;
  std::condition_variable_any asked_;
  std::deque<Question> questions_;
  /// By the token's digest: tokens themselves aren't kept.
  std::map<std::string, Reviewed> reviewed_;
  /// Last: they use all of the above.
  std::vector<std::jthread> threads_;
};

}  // namespace freezepipe::identity
