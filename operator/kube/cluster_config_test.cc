#include "operator/kube/cluster_config.h"

#include <absl/strings/escaping.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace freezepipe::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

class ClusterConfigTest : public testing::Test {
 protected:
  ClusterConfigTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  std::string Write(const std::string& name, const std::string& text) {
    const auto path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

  std::filesystem::path folder_;
  const TimePoint start_ = SteadyClock::now();
};

TEST_F(ClusterConfigTest, TokenIsReadAgainAfterAMinute) {
  const auto token = TokenSource::File(Write("token", "one\n"));
  EXPECT_EQ(*token->Get(start_), "one");
  Write("token", "two");
  EXPECT_EQ(*token->Get(start_ + seconds(59)), "one");
  EXPECT_EQ(*token->Get(start_ + minutes(1)), "two");
}

TEST_F(ClusterConfigTest, RefusedTokenIsReadAgainAtOnce) {
  const auto token = TokenSource::File(Write("token", "one"));
  EXPECT_EQ(*token->Get(start_), "one");
  Write("token", "two");
  token->Refused("an older one");
  EXPECT_EQ(*token->Get(start_), "one");
  token->Refused("one");
  EXPECT_EQ(*token->Get(start_), "two");
}

TEST_F(ClusterConfigTest, TokenStaysWhenItsFileCannotBeRead) {
  const std::string path = Write("token", "one");
  const auto token = TokenSource::File(path);
  EXPECT_EQ(*token->Get(start_), "one");
  std::filesystem::remove(path);
  EXPECT_EQ(*token->Get(start_ + minutes(2)), "one");
  Write("token", "");
  EXPECT_EQ(*token->Get(start_ + minutes(4)), "one");
  Write("token", "two");
  EXPECT_EQ(*token->Get(start_ + minutes(4)), "two");
}

TEST_F(ClusterConfigTest, TokenThatNeverWasIsAnError) {
  EXPECT_TRUE(
      absl::IsNotFound(TokenSource::File((folder_ / "none").string())->Get(start_).status()));
  EXPECT_TRUE(
      absl::IsUnauthenticated(TokenSource::File(Write("token", "\n"))->Get(start_).status()));
}

TEST_F(ClusterConfigTest, InCluster) {
  Write("token", "secret\n");
  Write("ca.crt", "authority");
  Write("namespace", "freezepipe\n");
  const auto config = InClusterConfig({"10.0.0.1", "443", folder_.string()});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://10.0.0.1:443");
  EXPECT_EQ(config->ca_pem, "authority");
  EXPECT_EQ(config->ns, "freezepipe");
  EXPECT_EQ(*config->token->Get(start_), "secret");
  EXPECT_EQ(InClusterConfig({"fd00::1", "443", folder_.string()})->server, "https://[fd00::1]:443");
}

TEST_F(ClusterConfigTest, NotInACluster) {
  EXPECT_TRUE(absl::IsFailedPrecondition(InClusterConfig({"", "", folder_.string()}).status()));
  Write("namespace", "x");
  Write("ca.crt", "x");
  const auto config = InClusterConfig({"10.0.0.1", "443", folder_.string()});
  EXPECT_THAT(std::string(config.status().message()), HasSubstr("token"));
}

constexpr char kKubeconfig[] = R"(
apiVersion: v1
kind: Config
current-context: dev
contexts:
- name: other
  context: {cluster: nowhere, user: nobody}
- name: dev
  context: {cluster: local, user: admin, namespace: train}
clusters:
- name: local
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority: ca.pem
users:
- name: admin
  user:
    client-certificate-data: CERTIFICATE
    client-key: keys/key.pem
)";

std::string Kubeconfig(const std::string& from = "", const std::string& to = "") {
  std::string text = kKubeconfig;
  text.replace(text.find("CERTIFICATE"), 11, absl::Base64Escape("certificate"));
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

TEST_F(ClusterConfigTest, KubeconfigWithDataAndFilesBesideIt) {
  std::filesystem::create_directories(folder_ / "keys");
  Write("ca.pem", "authority");
  Write("keys/key.pem", "key");
  const auto config = ReadKubeconfig(Write("config", Kubeconfig()));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://127.0.0.1:6443");
  EXPECT_EQ(config->ca_pem, "authority");
  EXPECT_EQ(config->client_certificate_pem, "certificate");
  EXPECT_EQ(config->client_key_pem, "key");
  EXPECT_EQ(config->ns, "train");
  EXPECT_EQ(config->token, nullptr);
}

TEST_F(ClusterConfigTest, KubeconfigWithTokens) {
  Write("ca.pem", "authority");
  Write("secret", "from a file");
  const std::string key = "client-key: keys/key.pem";
  const std::string certificate = "client-certificate-data: Y2VydGlmaWNhdGU=\n    ";
  const auto with = [&](const std::string& user) {
    return ReadKubeconfig(Write("config", Kubeconfig(certificate + key, user)));
  };
  EXPECT_EQ(*with("token: plain")->token->Get(start_), "plain");
  EXPECT_EQ(*with("tokenFile: secret")->token->Get(start_), "from a file");
  EXPECT_THAT(with("tokenFile: missing").status().ToString(), HasSubstr("missing"));
}

TEST_F(ClusterConfigTest, FaultyKubeconfigsSayWhatIsWrong) {
  Write("ca.pem", "authority");
  struct Case {
    std::string from, to, message;
  };
  for (const Case& test : std::vector<Case>{
           {"current-context: dev", "", "no current-context"},
           {"current-context: dev", "current-context: prod", "no context \"prod\" in contexts"},
           {"name: local", "name: remote", "no cluster \"local\" in clusters"},
           {"server: https", "url: https", "the cluster has no server"},
           {"certificate-authority: ca.pem", "certificate-authority: none.pem", "none.pem"},
           {"certificate-authority: ca.pem", "insecure-skip-tls-verify: true",
            "insecure-skip-tls-verify"},
           {"client-key: keys/key.pem", "", "needs its key"},
           {"client-key: keys/key.pem", "client-key-data: '%'", "client-key-data isn't base 64"},
           {"client-key: keys/key.pem", "exec: {command: login}", "exec isn't supported"},
           {"contexts:", "contexts: [", "config"},
       }) {
    const auto config = ReadKubeconfig(Write("config", Kubeconfig(test.from, test.to)));
    EXPECT_THAT(config.status().ToString(), HasSubstr(test.message)) << test.to;
  }
  EXPECT_TRUE(absl::IsNotFound(ReadKubeconfig((folder_ / "none").string()).status()));
}

}  // namespace
}  // namespace freezepipe::kube
