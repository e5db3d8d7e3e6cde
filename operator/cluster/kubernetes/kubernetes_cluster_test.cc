#include "operator/cluster/kubernetes/kubernetes_cluster.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "operator/cluster/kubernetes/labels.h"
#include "operator/cluster/kubernetes/test_jobs.h"
#include "operator/kube/eventually.h"
#include "operator/kube/fake_api_server.h"
#include "operator/kube/reflector.h"

namespace freezepipe::cluster {
namespace {

using kube::Eventually;
using kube::Json;

/// A cluster with a watch on its pods; the test is the kubelet.
class KubernetesClusterTest : public testing::Test {
 protected:
  KubernetesClusterTest() {
    pods_.AddHandler([this](const kube::Change& change) { cluster_.OnPodChange(change); });
    watch_.emplace(client_, kPods, kube::Selection{.labels = kJobUidLabel}, pods_,
                   [](const absl::Status&) {});
  }

  static std::string Name(int worker, int attempt) {
    return absl::StrCat("fashion-", worker, "-", attempt, "-3f2a9c1d");
  }
  static std::string Path(int worker, int attempt) {
    return "/api/v1/namespaces/train/pods/" + Name(worker, attempt);
  }
  bool Exists(int worker, int attempt) { return server_->Find(Path(worker, attempt)).has_value(); }

  /// As the kubelet does.
  void SetPhase(int worker, int attempt, const std::string& phase) {
    const auto set = client_.PatchStatus(kPods, {.ns = "train", .name = Name(worker, attempt)},
                                         {{"status", {{"phase", phase}}}});
    EXPECT_TRUE(set.ok()) << set.status();
  }

  std::vector<std::string> Exits() {
    std::lock_guard lock(mutex_);
    return exits_;
  }
  bool HasExit(const std::string& exit) {
    const auto exits = Exits();
    return std::find(exits.begin(), exits.end(), exit) != exits.end();
  }
  size_t Errors() {
    std::lock_guard lock(mutex_);
    return errors_.size();
  }

  std::shared_ptr<kube::FakeApiServer> server_ = std::make_shared<kube::FakeApiServer>();
  kube::Client client_{server_, {}};
  std::mutex mutex_;  // Guards exits_ and errors_.
  std::vector<std::string> exits_;
  std::vector<absl::Status> errors_;
  KubernetesCluster cluster_{
      client_,
      std::make_shared<const Json>(TestJob()),
      PodOptions{.coordinator = "here:1", .image = "worker"},
      {},
      [this](int worker, const WorkerEnd& end) {
        std::lock_guard lock(mutex_);
        exits_.push_back(absl::StrCat(worker, end.clean ? " clean" : "",
                                      end.disrupted ? " disrupted: " : ": ", end.why));
      },
      [this](int, const absl::Status& error) {
        std::lock_guard lock(mutex_);
        errors_.push_back(error);
      }};
  kube::Cache pods_;
  std::optional<kube::Reflector> watch_;
};

TEST_F(KubernetesClusterTest, LaunchesPodsAndHearsOfTheirEnds) {
  cluster_.Launch(0);
  cluster_.Launch(1);
  ASSERT_TRUE(Eventually([&] { return Exists(0, 0) && Exists(1, 0); }));
  SetPhase(0, 0, "Running");
  SetPhase(0, 0, "Succeeded");
  ASSERT_TRUE(Eventually([&] { return HasExit("0 clean: exited with status 0"); }));
  SetPhase(1, 0, "Failed");
  ASSERT_TRUE(Eventually([&] { return HasExit("1: failed"); }));
  EXPECT_EQ(Exits().size(), 2u);
  // Its logs stay readable.
  EXPECT_TRUE(Exists(0, 0));
}

TEST_F(KubernetesClusterTest, ALostWorkerComesAgainUnderTheNextAttempt) {
  cluster_.Launch(0);
  ASSERT_TRUE(Eventually([&] { return Exists(0, 0); }));
  SetPhase(0, 0, "Failed");
  ASSERT_TRUE(Eventually([&] { return Exits().size() == 1; }));
  cluster_.Launch(0);
  ASSERT_TRUE(Eventually([&] { return Exists(0, 1); }));
  // Nothing that the former pod does counts any more.
  ASSERT_TRUE(client_.Delete(kPods, {.ns = "train", .name = Name(0, 0)}).ok());
  SetPhase(0, 1, "Succeeded");
  ASSERT_TRUE(Eventually([&] { return HasExit("0 clean: exited with status 0"); }));
  EXPECT_EQ(Exits().size(), 2u);
}

TEST_F(KubernetesClusterTest, NewPodsFollowTheJobAsItIsByThen) {
  cluster_.Launch(0);
  ASSERT_TRUE(Eventually([&] { return Exists(0, 0); }));
  Json changed = TestJob();
  changed["spec"]["worker"]["template"]["metadata"]["labels"]["team"] = "vision";
  cluster_.OnJobChange(std::make_shared<const Json>(changed));
  SetPhase(0, 0, "Failed");
  ASSERT_TRUE(Eventually([&] { return Exits().size() == 1; }));
  cluster_.Launch(0);
  ASSERT_TRUE(Eventually([&] { return Exists(0, 1); }));
  const auto pod = client_.Get(kPods, {.ns = "train", .name = Name(0, 1)});
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(kube::Label(*pod, "team"), "vision");
}

TEST_F(KubernetesClusterTest, AWorkerThatRunsIsLeftAlone) {
  cluster_.Launch(0);
  ASSERT_TRUE(Eventually([&] { return Exists(0, 0); }));
  cluster_.Launch(0);
  cluster_.Launch(1);
  ASSERT_TRUE(Eventually([&] { return Exists(1, 0); }));
  EXPECT_FALSE(Exists(0, 1));
}

TEST_F(KubernetesClusterTest, KillDeletesThePod) {
  cluster_.Launch(0);
  ASSERT_TRUE(Eventually([&] { return Exists(0, 0); }));
  cluster_.Kill(0);
  ASSERT_TRUE(Eventually([&] { return HasExit("0: its pod was deleted"); }));
  EXPECT_FALSE(Exists(0, 0));
  cluster_.Kill(0);
  cluster_.Launch(0);
  EXPECT_TRUE(Eventually([&] { return Exists(0, 1); }));
  EXPECT_EQ(Exits().size(), 1u);
}

TEST_F(KubernetesClusterTest, SomebodyElseMayDeleteAPod) {
  cluster_.Launch(0);
  ASSERT_TRUE(Eventually([&] { return pods_.size() == 1; }));
  ASSERT_TRUE(client_.Delete(kPods, {.ns = "train", .name = Name(0, 0)}).ok());
  EXPECT_TRUE(Eventually([&] { return HasExit("0 disrupted: its pod was deleted"); }));
}

TEST_F(KubernetesClusterTest, GoesOnWithThePodsThereAre) {
  Json old = MakeWorkerPod(TestJob(), 0, 0, {});
  old["status"]["phase"] = "Failed";
  Json newer = MakeWorkerPod(TestJob(), 0, 1, {});
  newer["status"]["phase"] = "Running";
  Json ended = MakeWorkerPod(TestJob(), 1, 4, {});
  ended["status"]["phase"] = "Failed";
  std::vector<kube::Object> pods;
  for (const Json& pod : {old, newer, ended}) pods.push_back(std::make_shared<const Json>(pod));
  KubernetesCluster successor(
      client_, std::make_shared<const Json>(TestJob()), {}, pods, [](int, const WorkerEnd&) {},
      [](int, const absl::Status&) {});
  successor.Launch(0);
  successor.Launch(1);
  EXPECT_TRUE(Eventually([&] { return Exists(1, 5); }));
  EXPECT_FALSE(Exists(0, 2)) << "its worker runs";
}

TEST_F(KubernetesClusterTest, AWorkerIsLostWithItsNode) {
  cluster_.Launch(0);
  ASSERT_TRUE(Eventually([&] { return Exists(0, 0); }));
  server_->SetAway(true);
  cluster_.Kill(0);
  Json pod = MakeWorkerPod(TestJob(), 0, 0, {});
  pod["metadata"]["deletionTimestamp"] = "2023-11-14T22:13:20Z";  // 1,700,000,000
  pod["spec"]["nodeName"] = "node-1";
  const auto at = [](int seconds) {
    return std::chrono::system_clock::from_time_t(1'700'000'000 + seconds);
  };
  const std::vector<kube::Object> pods = {std::make_shared<const Json>(pod)};
  cluster_.EndLost(pods, at(5));
  EXPECT_TRUE(Exits().empty());
  cluster_.EndLost(pods, at(15));
  EXPECT_EQ(Exits(), std::vector<std::string>{"0 disrupted: its node node-1 was lost"});
}

TEST_F(KubernetesClusterTest, WhatTheServerDoesntDoIsTriedAgain) {
  server_->SetAway(true);
  cluster_.Launch(0);
  ASSERT_TRUE(Eventually([&] { return Errors() >= 2; }));
  server_->SetAway(false);
  EXPECT_TRUE(Eventually([&] { return Exists(0, 0); }));
}

TEST_F(KubernetesClusterTest, AWorkerKilledBeforeItsPodWasMadeIsGone) {
  server_->SetAway(true);
  cluster_.Launch(0);
  ASSERT_TRUE(Eventually([&] { return Errors() >= 1; }));
  cluster_.Kill(0);
  server_->SetAway(false);
  EXPECT_TRUE(Eventually([&] { return HasExit("0: its pod was deleted"); }));
  EXPECT_FALSE(Exists(0, 0));
}

TEST_F(KubernetesClusterTest, APodMadeBeforeIsTakenOver) {
  ASSERT_TRUE(client_.Create(kPods, MakeWorkerPod(TestJob(), 0, 0, {})).ok());
  SetPhase(0, 0, "Succeeded");
  ASSERT_TRUE(Eventually([&] { return pods_.size() == 1; }));
  cluster_.Launch(0);
  EXPECT_TRUE(Eventually([&] { return HasExit("0 clean: exited with status 0"); }));
  EXPECT_EQ(Errors(), 0u);
}

TEST_F(KubernetesClusterTest, ANameThatSomebodyElseTookIsAnError) {
  Json other = MakeWorkerPod(TestJob(), 0, 0, {});
  other["metadata"].erase("ownerReferences");
  ASSERT_TRUE(client_.Create(kPods, other).ok());
  cluster_.Launch(0);
  EXPECT_TRUE(Eventually([&] { return Errors() >= 1; }));
  EXPECT_TRUE(Exits().empty());
}

}  // namespace
}  // namespace freezepipe::cluster
