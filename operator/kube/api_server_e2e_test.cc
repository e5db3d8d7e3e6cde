// Against a real API server: that of the kubeconfig which FREEZEPIPE_TEST_KUBECONFIG names. Makes a
// namespace of its own and deletes it.

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <random>

#include "operator/kube/api_error.h"
#include "operator/kube/client.h"
#include "operator/kube/cluster_config.h"
#include "operator/kube/event_recorder.h"
#include "operator/kube/eventually.h"
#include "operator/kube/http_transport.h"
#include "operator/kube/leader_elector.h"
#include "operator/kube/reflector.h"

namespace freezepipe::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Resource kNamespaces{"", "v1", "namespaces", /*namespaced=*/false};
constexpr Resource kConfigMaps{"", "v1", "configmaps"};
constexpr Resource kEvents{"events.k8s.io", "v1", "events"};
constexpr Resource kDeployments{"apps", "v1", "deployments"};

class ApiServer : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("FREEZEPIPE_TEST_KUBECONFIG");
    if (path == nullptr || *path == 0) {
      GTEST_SKIP() << "FREEZEPIPE_TEST_KUBECONFIG names no kubeconfig of an API server";
    }
    auto config = ReadKubeconfig(path);
    ASSERT_TRUE(config.ok()) << config.status();
    auto transport = HttpTransport::Create(*std::move(config));
    ASSERT_TRUE(transport.ok()) << transport.status();
    transport_ = *std::move(transport);
    client_.emplace(transport_, ClientOptions{});
    ns_ = absl::StrCat("freezepipe-kube-test-", absl::Hex(std::random_device()()));
    const auto created = client_->Create(
        kNamespaces, {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns_}}}});
    ASSERT_TRUE(created.ok()) << created.status();
  }

  void TearDown() override {
    if (!ns_.empty()) client_->Delete(kNamespaces, {"", ns_}).IgnoreError();
  }

  Json Map(const std::string& name, const std::string& value = "1") {
    return {{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", {{"namespace", ns_}, {"name", name}, {"labels", {{"made-by", "test"}}}}},
            {"data", {{"value", value}}}};
  }

  std::shared_ptr<Transport> transport_;
  std::optional<Client> client_;
  std::string ns_;
};

TEST_F(ApiServer, Requests) {
  const ObjectKey key = {ns_, "a"};
  const auto created = client_->Create(kConfigMaps, Map("a"));
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_TRUE(absl::IsAlreadyExists(client_->Create(kConfigMaps, Map("a")).status()));
  EXPECT_TRUE(absl::IsNotFound(client_->Get(kConfigMaps, {ns_, "b"}).status()));

  const auto patched = client_->Patch(
      kConfigMaps, key,
      {{"metadata", {{"resourceVersion", ResourceVersion(*created)}}}, {"data", {{"value", "2"}}}});
  ASSERT_TRUE(patched.ok()) << patched.status();
  EXPECT_EQ((*patched)["data"]["value"], "2");
  EXPECT_TRUE(
      IsConflict(client_
                     ->Patch(kConfigMaps, key,
                             {{"metadata", {{"resourceVersion", ResourceVersion(*created)}}},
                              {"data", {{"value", "3"}}}})
                     .status()));

  const auto applied = client_->Apply(kConfigMaps, Map("a", "4"));
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ((*applied)["data"]["value"], "4");

  EXPECT_TRUE(IsConflict(client_->Delete(kConfigMaps, key, {.uid = "another"})));
  EXPECT_TRUE(client_->Delete(kConfigMaps, key, {.uid = Uid(*created)}).ok());
  EXPECT_TRUE(absl::IsNotFound(client_->Get(kConfigMaps, key).status()));
}

TEST_F(ApiServer, DryRunStoresNothingAndNamesUnknownFields) {
  EXPECT_TRUE(client_->Create(kConfigMaps, Map("a"), {.dry_run = true}).ok());
  EXPECT_TRUE(absl::IsNotFound(client_->Get(kConfigMaps, {ns_, "a"}).status()));
  Json misspelt = Map("a");
  misspelt["datta"] = Json::object();
  const auto refused = client_->Create(kConfigMaps, misspelt, {.dry_run = true});
  EXPECT_THAT(refused.status().ToString(), testing::HasSubstr("datta"));
}

TEST_F(ApiServer, StatusIsItsOwnSubresource) {
  const Json deployment = Json::parse(R"({
      "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
      "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}},
               "template": {"metadata": {"labels": {"a": "b"}},
                            "spec": {"containers": [{"name": "c", "image": "none"}]}}}})");
  Json object = deployment;
  object["metadata"]["namespace"] = ns_;
  ASSERT_TRUE(client_->Create(kDeployments, object).ok());
  const Json status = {{"status", {{"collisionCount", 7}}}};
  const auto patched = client_->PatchStatus(kDeployments, {ns_, "d"}, status);
  ASSERT_TRUE(patched.ok()) << patched.status();
  EXPECT_EQ((*patched)["status"]["collisionCount"], 7);
}

TEST_F(ApiServer, ListsMoreThanOnePage) {
  for (int i = 0; i < 520; ++i) {
    ASSERT_TRUE(client_->Create(kConfigMaps, Map(absl::StrCat("m", i))).ok());
  }
  const auto list = client_->List(kConfigMaps, {.ns = ns_, .labels = "made-by=test"});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->items.size(), 520u);
  EXPECT_EQ(list->items[0]["kind"], "ConfigMap");
}

TEST_F(ApiServer, AReflectorFollows) {
  Cache cache;
  ASSERT_TRUE(client_->Create(kConfigMaps, Map("a")).ok());
  std::atomic<int> errors = 0;
  Reflector reflector(*client_, kConfigMaps, {.ns = ns_, .labels = "made-by=test"}, cache,
                      [&](const absl::Status&) { ++errors; });
  ASSERT_TRUE(cache.WaitUntilSynced({}));
  EXPECT_EQ(cache.size(), 1u);
  ASSERT_TRUE(client_->Create(kConfigMaps, Map("b")).ok());
  EXPECT_TRUE(Eventually([&] { return cache.size() == 2; }));
  ASSERT_TRUE(client_->Delete(kConfigMaps, {ns_, "a"}).ok());
  EXPECT_TRUE(Eventually([&] { return cache.size() == 1; }));
  EXPECT_EQ(errors, 0);
}

TEST_F(ApiServer, OneLeadsAndHandsOver) {
  const auto start = [&](const std::string& identity, std::atomic<int64_t>& elected) {
    return std::make_unique<LeaderElector>(
        transport_,
        LeaderElectorOptions{
            .lease = {ns_, "lease"}, .identity = identity, .retry_period = milliseconds(200)},
        [&](int64_t term) { elected = term; }, [](const std::string&) {},
        [](const absl::Status&) {});
  };
  std::atomic<int64_t> first_term = -1;
  std::atomic<int64_t> second_term = -1;
  const auto first = start("first", first_term);
  ASSERT_TRUE(Eventually([&] { return first_term == 0; }));
  const auto second = start("second", second_term);
  const absl::Status released = first->Release();
  ASSERT_TRUE(released.ok()) << released;
  EXPECT_TRUE(Eventually([&] { return second_term == 1; }));
}

TEST_F(ApiServer, EventsAreAcceptedAndCounted) {
  std::mutex mutex;
  std::vector<absl::Status> errors;
  const auto map = client_->Create(kConfigMaps, Map("a"));
  ASSERT_TRUE(map.ok());
  {
    EventRecorder recorder(*client_, "freezepipe.io/operator", "test",
                           [&](const absl::Status& error) {
                             std::lock_guard lock(mutex);
                             errors.push_back(error);
                           });
    for (int i = 0; i < 2; ++i) {
      recorder.Record(*map, {.reason = "Released", .action = "Repartition", .note = "x"});
    }
    EXPECT_TRUE(Eventually([&] {
      const auto events = client_->List(kEvents, {.ns = ns_});
      return events.ok() && events->items.size() == 1 && events->items[0].contains("series");
    }));
  }
  EXPECT_THAT(errors, testing::IsEmpty());
}

}  // namespace
}  // namespace freezepipe::kube
