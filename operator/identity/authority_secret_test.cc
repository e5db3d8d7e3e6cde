#include "operator/identity/authority_secret.h"

#include <absl/strings/escaping.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "operator/kube/fake_api_server.h"
#include "operator/kube/interrupted_server.h"

namespace freezepipe::identity {
namespace {

using kube::Json;
using testing::HasSubstr;

const kube::ObjectKey kKey{"system", "freezepipe-ca"};
constexpr char kPath[] = "/api/v1/namespaces/system/secrets/freezepipe-ca";

class AuthoritySecretTest : public testing::Test {
 protected:
  const std::shared_ptr<kube::FakeApiServer> server_ = std::make_shared<kube::FakeApiServer>();
  kube::Client client_{server_, {}};
};

TEST_F(AuthoritySecretTest, IsMadeOnceAndSharedFromThenOn) {
  const auto made = LoadOrMakeAuthority(client_, kKey);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::optional<Json> secret = server_->Find(kPath);
  ASSERT_TRUE(secret);
  EXPECT_EQ((*secret)["type"], "kubernetes.io/tls");
  std::string certificate;
  ASSERT_TRUE(absl::Base64Unescape((*secret)["data"]["tls.crt"].get<std::string>(), &certificate));
  EXPECT_EQ(certificate, made->certificate);
  const auto loaded = LoadOrMakeAuthority(client_, kKey);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->certificate, made->certificate);
  EXPECT_EQ(loaded->key, made->key);
}

TEST_F(AuthoritySecretTest, OfTwoReplicasAtOnceBothGetTheFirstOnes) {
  // Another replica makes the Secret between this one's look and its own try.
  PemIdentity others;
  const auto overtake = [&](const kube::HttpRequest& request) -> std::optional<kube::HttpResponse> {
    if (request.method == kube::Method::kPost) others = LoadOrMakeAuthority(client_, kKey).value();
    return std::nullopt;
  };
  kube::Client client(std::make_shared<kube::InterruptedServer>(server_, overtake), {});
  const auto loaded = LoadOrMakeAuthority(client, kKey);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->certificate, others.certificate);
  EXPECT_EQ(loaded->key, others.key);
}

TEST_F(AuthoritySecretTest, OneThatCantBeUsedIsSaidAndLeftAlone) {
  const Json damaged = {{"metadata", {{"namespace", kKey.ns}, {"name", kKey.name}}},
                        {"type", "kubernetes.io/tls"},
                        {"data", {{"tls.crt", "!"}, {"tls.key", ""}}}};
  ASSERT_TRUE(client_.Create(kSecrets, damaged).ok());
  const absl::Status status = LoadOrMakeAuthority(client_, kKey).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("system/freezepipe-ca"));
  EXPECT_EQ((*server_->Find(kPath))["data"], damaged["data"]);
}

TEST_F(AuthoritySecretTest, ErrorsOfTheApiServerArePassedOn) {
  server_->SetAway(true);
  EXPECT_EQ(LoadOrMakeAuthority(client_, kKey).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace freezepipe::identity
