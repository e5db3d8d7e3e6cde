#include "operator/identity/token_review_authenticator.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <openssl/sha.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "operator/cluster/kubernetes/job_pod.h"
#include "operator/cluster/kubernetes/pod_end.h"

namespace freezepipe::identity {
namespace {

using kube::Json;
using Pointer = Json::json_pointer;

constexpr kube::Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", false};
constexpr char kPodName[] = "authentication.kubernetes.io/pod-name";
constexpr char kPodUid[] = "authentication.kubernetes.io/pod-uid";
constexpr std::chrono::minutes kRememberedFor(1);

std::string Digest(const std::string& token) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

/// The one value of a field of the user's extra ones, or empty.
std::string Extra(const Json& status, const char* name) {
  return kube::TextAt(status, Pointer("/user/extra") / name / size_t{0});
}

bool IsFor(const Json& status, const std::string& audience) {
  const Json audiences = status.value("audiences", Json::array());
  return std::find(audiences.begin(), audiences.end(), audience) != audiences.end();
}

/// Whether this pod may say that Hello.
absl::Status CheckPod(const Json& pod, const v1alpha1::Hello& hello) {
  const std::string who = absl::StrCat("pod ", kube::KeyText(kube::KeyOf(pod)));
  if (const auto end = cluster::EndOf(pod)) {
    return absl::PermissionDeniedError(absl::StrCat(who, " has ended: ", end->why));
  }
  // Another has its place by now; the process may live, where the API server doesn't reach its
  // node.
  if (cluster::IsLostWithItsNode(pod, std::chrono::system_clock::now())) {
    return absl::PermissionDeniedError(absl::StrCat(who, " is lost with its node"));
  }
  if (cluster::JobIdOf(pod) != hello.job()) {
    return absl::PermissionDeniedError(absl::StrCat(who, " isn't of job ", hello.job()));
  }
  if (cluster::WorkerOf(pod) != hello.worker()) {
    return absl::PermissionDeniedError(absl::StrCat(who, " isn't worker ", hello.worker()));
  }
  return absl::OkStatus();
}

}  // namespace

TokenReviewAuthenticator::TokenReviewAuthenticator(kube::Client& client, FindPod find_pod,
                                                   TokenReviewOptions options)
    : client_(client), find_pod_(std::move(find_pod)), options_(std::move(options)) {
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
  }
}

TokenReviewAuthenticator::~TokenReviewAuthenticator() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
  for (const Question& question : questions_) {
    question.done(absl::UnavailableError("shutting down"));
  }
}

void TokenReviewAuthenticator::Authenticate(const std::string& token, const v1alpha1::Hello& hello,
                                            std::function<void(absl::Status)> done) {
  {
    std::lock_guard lock(mutex_);
    questions_.push_back({token, hello, std::move(done)});
  }
  asked_.notify_one();
}

void TokenReviewAuthenticator::Run(const std::stop_token& stop) {
  while (true) {
    Question question;
    {
      std::unique_lock lock(mutex_);
      asked_.wait(lock, stop, [this] { return !questions_.empty(); });
      if (stop.stop_requested()) return;
      question = std::move(questions_.front());
      questions_.pop_front();
    }
    question.done(Answer(question));
  }
}

absl::Status TokenReviewAuthenticator::Answer(const Question& question) {
  const absl::StatusOr<PodIdentity> identity = Identify(question.token);
  if (!identity.ok()) return identity.status();
  const kube::Object pod = find_pod_(identity->uid);
  // Its watch event may still be under way.
  if (pod == nullptr) {
    return absl::UnavailableError(absl::StrCat("pod ", identity->name, " isn't known here (yet)"));
  }
  return CheckPod(*pod, question.hello);
}

absl::StatusOr<TokenReviewAuthenticator::PodIdentity> TokenReviewAuthenticator::Identify(
    const std::string& token) {
  const std::string digest = Digest(token);
  if (const auto pod = Remembered(digest)) return *pod;
  absl::StatusOr<PodIdentity> pod = Review(token);
  if (pod.ok()) Remember(digest, *pod);
  return pod;
}

absl::StatusOr<TokenReviewAuthenticator::PodIdentity> TokenReviewAuthenticator::Review(
    const std::string& token) {
  const absl::StatusOr<Json> review = client_.Create(
      kTokenReviews, {{"apiVersion", kube::ApiVersion(kTokenReviews)},
                      {"kind", "TokenReview"},
                      {"spec", {{"token", token}, {"audiences", {options_.audience}}}}});
  if (!review.ok()) {
    options_.on_error(review.status());
    return absl::UnavailableError("the API server can't review tokens now");
  }
  const Json status = review->value("status", Json::object());
  if (!status.value("authenticated", false)) {
    return absl::UnauthenticatedError(absl::StrCat("the API server refuses the token: ",
                                                   status.value("error", "no reason given")));
  }
  // A server that doesn't know audiences would accept a token that is meant for others.
  if (!IsFor(status, options_.audience)) {
    return absl::UnauthenticatedError(
        absl::StrCat("the token isn't meant for ", options_.audience));
  }
  PodIdentity pod = {.name = Extra(status, kPodName), .uid = Extra(status, kPodUid)};
  if (pod.uid.empty()) return absl::PermissionDeniedError("the token isn't bound to a pod");
  return pod;
}

std::optional<TokenReviewAuthenticator::PodIdentity> TokenReviewAuthenticator::Remembered(
    const std::string& digest) {
  std::lock_guard lock(mutex_);
  const auto found = reviewed_.find(digest);
  if (found == reviewed_.end() || found->second.until < kube::SteadyClock::now()) {
    return std::nullopt;
  }
  return found->second.pod;
}

void TokenReviewAuthenticator::Remember(const std::string& digest, const PodIdentity& pod) {
  const kube::TimePoint now = kube::SteadyClock::now();
  std::lock_guard lock(mutex_);
  std::erase_if(reviewed_, [&](const auto& entry) { return entry.second.until < now; });
  reviewed_[digest] = {.pod = pod, .until = now + kRememberedFor};
}

}  // namespace freezepipe::identity
