#include "operator/reconciler/reconciler.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "operator/cluster/kubernetes/labels.h"
#include "operator/kube/eventually.h"
#include "operator/kube/fake_api_server.h"
#include "operator/kube/interrupted_server.h"
#include "operator/kube/reflector.h"
#include "operator/kube/work_queue.h"
#include "operator/reconciler/job_status.h"

namespace freezepipe::reconciler {
namespace {

using kube::Eventually;
using kube::Json;
using testing::HasSubstr;
using v1alpha1::JobState;

constexpr char kJobPath[] = "/apis/freezepipe.io/v1alpha1/namespaces/train/freezepipejobs/a";
constexpr char kPodFolder[] = "/api/v1/namespaces/train/pods/";

/// The operator's loop on an API server in memory; the test is the user and the kubelet.
class ReconcilerTest : public testing::Test {
 protected:
  ReconcilerTest() {
    jobs_.AddHandler([this](const kube::Change& change) { reconciler_.OnJobChange(change); });
    pods_.AddHandler([this](const kube::Change& change) { reconciler_.OnPodChange(change); });
    const auto ignore = [](const absl::Status&) {};
    job_watch_.emplace(client_, kJobs, kube::Selection{}, jobs_, ignore);
    pod_watch_.emplace(client_, cluster::kPods, kube::Selection{.labels = cluster::kJobUidLabel},
                       pods_, ignore);
    loop_ = std::jthread([this](const std::stop_token& stop) {
      while (const auto job = queue_.Take(stop)) {
        const auto again = reconciler_.Reconcile(kube::ParseKey(*job));
        if (again.ok()) looks_again_in_ = again->value_or(kube::Duration::max());
        ++looks_;
        if (again.ok() && *again) queue_.AddAfter(*job, **again);
        if (!again.ok()) queue_.Retry(*job);
        queue_.Done(*job);
      }
    });
  }

  void CreateJob(Json run_policy = Json::object(), Json pod_template = Json::object()) {
    const auto made = client_.Create(
        kJobs, {{"apiVersion", "freezepipe.io/v1alpha1"},
                {"kind", "FreezePipeJob"},
                {"metadata", {{"namespace", "train"}, {"name", "a"}, {"generation", 1}}},
                {"spec",
                 {{"training", {{"epochs", 2}}},
                  {"runPolicy", std::move(run_policy)},
                  {"worker", {{"count", 2}, {"template", std::move(pod_template)}}}}}});
    ASSERT_TRUE(made.ok()) << made.status();
    uid_ = kube::Uid(*made).substr(0, 8);
  }

  std::string WorkerPod(int worker) const { return absl::StrCat("a-", worker, "-0-", uid_); }
  bool HasPod(const std::string& name) const {
    return server_->Find(kPodFolder + name).has_value();
  }
  void SetPod(const std::string& name, Json status) {
    const auto set = kubelet_.PatchStatus(cluster::kPods, {.ns = "train", .name = name},
                                          {{"status", std::move(status)}});
    EXPECT_TRUE(set.ok()) << set.status();
  }
  void StartWorkers() {
    ASSERT_TRUE(Eventually([&] { return HasPod(WorkerPod(0)) && HasPod(WorkerPod(1)); }));
  }

  /// A job that a leader before this one has started, and that is found with its pods.
  void CreateStartedJob(Json run_policy) {
    run_policy["managedBy"] = "nobody/yet";
    CreateJob(std::move(run_policy));
    const Json job = *server_->Find(kJobPath);
    for (const int worker : {0, 1}) {
      const Json pod = cluster::MakeWorkerPod(job, worker, 0, surroundings_.pods);
      ASSERT_TRUE(kubelet_.Create(cluster::kPods, pod).ok());
      SetPod(WorkerPod(worker), {{"phase", "Running"}});
    }
    ASSERT_TRUE(Eventually([&] { return pods_.size() == 2; }));
    const auto ours = kubelet_.Patch(
        kJobs, {.ns = "train", .name = "a"},
        {{"spec", {{"runPolicy", {{"managedBy", nullptr}}}}}, {"status", {{"state", "Starting"}}}});
    ASSERT_TRUE(ours.ok()) << ours.status();
  }

  v1alpha1::FreezePipeJobStatus Status() const {
    const auto job = server_->Find(kJobPath);
    const auto status = ReadStatus(job.value_or(Json::object()));
    EXPECT_TRUE(status.ok()) << status.status();
    return *status;
  }
  bool Is(const std::string& type) const {
    const auto status = Status();
    return std::any_of(
        status.conditions().begin(), status.conditions().end(), [&](const auto& condition) {
          return condition.type() == type && condition.status() == v1alpha1::ConditionStatus::True;
        });
  }
  std::vector<std::string> EventReasons() const {
    const auto list = const_cast<kube::Client&>(client_).List(kEvents, {});
    std::vector<std::string> reasons;
    for (const Json& event : list->items) reasons.push_back(event.value("reason", ""));
    return reasons;
  }

  static constexpr kube::Resource kEvents{"events.k8s.io", "v1", "events"};

  std::shared_ptr<kube::FakeApiServer> server_ = std::make_shared<kube::FakeApiServer>();
  std::shared_ptr<kube::InterruptedServer> front_ =
      std::make_shared<kube::InterruptedServer>(server_);
  kube::Client client_{front_, {}};
  /// Of the test itself.
  kube::Client kubelet_{server_, {}};
  kube::EventRecorder events_{client_, "freezepipe.io/operator", "test",
                              [](const absl::Status&) {}};
  std::unique_ptr<coordinator::CoordinatorServer> coordinator_ =
      coordinator::MakeCoordinatorServer({.listen_address = "127.0.0.1:0"});
  std::atomic<int> now_ = 1'700'000'000;
  /// A second passes whenever the time is read.
  std::atomic<bool> ticking_ = false;
  kube::WorkQueue queue_;
  Surroundings surroundings_{
      .client = &client_,
      .events = &events_,
      .coordinator = coordinator_.get(),
      .pods = {.coordinator = "here:1", .image = "worker"},
      .term = 1,
      .look_at = [this](const kube::ObjectKey& job,
                        kube::Duration delay) { queue_.AddAfter(kube::KeyText(job), delay); },
      .on_error = [](const kube::ObjectKey&, const absl::Status&) {}};
  std::string uid_;
  kube::Cache jobs_;
  kube::Cache pods_{PodIndexes()};
  Reconciler reconciler_{surroundings_, jobs_, pods_, [this] {
                           if (ticking_) ++now_;
                           return std::chrono::system_clock::from_time_t(now_.load());
                         }};
  std::optional<kube::Reflector> job_watch_;
  std::optional<kube::Reflector> pod_watch_;
  std::atomic<int> looks_ = 0;
  /// As the loop's last look said.
  std::atomic<kube::Duration> looks_again_in_ = kube::Duration::max();
  std::jthread loop_;
};

TEST_F(ReconcilerTest, AJobsWorkersStart) {
  CreateJob();
  StartWorkers();
  EXPECT_TRUE(Eventually(
      [&] { return Status().state() == JobState::Starting && Status().desired_workers() == 2; }));
  EXPECT_EQ(Status().conditions_size(), 5) << "from the first look";
  EXPECT_EQ(Status().start_time().seconds(), now_);
}

TEST_F(ReconcilerTest, WhatTheSchedulerSaysIsSaidOfTheJob) {
  CreateJob();
  StartWorkers();
  SetPod(WorkerPod(1), {{"phase", "Pending"},
                        {"conditions",
                         {{{"type", "PodScheduled"},
                           {"status", "False"},
                           {"reason", "Unschedulable"},
                           {"message", "2 Insufficient nvidia.com/gpu"}}}}});
  EXPECT_TRUE(Eventually([&] {
    return Status().message() ==
           absl::StrCat("Unschedulable: pod ", WorkerPod(1), ": 2 Insufficient nvidia.com/gpu");
  }));
  EXPECT_TRUE(Eventually(
      [&] { return testing::Value(EventReasons(), testing::Contains("Unschedulable")); }));
}

TEST_F(ReconcilerTest, AJobThatDoesntStartInTimeFailsAndItsPodsGo) {
  CreateJob({{"startDeadlineSeconds", 60}});
  StartWorkers();
  SetPod(
      WorkerPod(0),
      {{"phase", "Pending"},
       {"containerStatuses",
        {{{"state", {{"waiting", {{"reason", "ErrImagePull"}, {"message", "no such image"}}}}}}}}});
  ASSERT_TRUE(
      Eventually([&] { return Status().message().find("no such image") != std::string::npos; }));
  now_ += 61;
  queue_.Add("train/a");
  ASSERT_TRUE(Eventually([&] { return Is(kFailed); }));
  EXPECT_THAT(Status().message(), HasSubstr("StartDeadlineExceeded"));
  EXPECT_THAT(Status().message(), HasSubstr("no such image"));
  EXPECT_FALSE(HasPod(WorkerPod(0)));
  EXPECT_FALSE(HasPod(WorkerPod(1)));
  EXPECT_TRUE(Eventually(
      [&] { return testing::Value(EventReasons(), testing::Contains("StartDeadlineExceeded")); }));
}

TEST_F(ReconcilerTest, TheStartDeadlineCountsAlsoWhileAQuotaIsExceeded) {
  front_->Set([](const kube::HttpRequest& request) -> std::optional<kube::HttpResponse> {
    if (request.method != kube::Method::kPost || !absl::StrContains(request.target, "/pods")) {
      return std::nullopt;
    }
    const Json refusal = {{"kind", "Status"}, {"reason", "Forbidden"}, {"message", "quota is 0"}};
    return kube::HttpResponse{.code = 403, .body = refusal.dump(), .retry_after = {}};
  });
  CreateJob({{"startDeadlineSeconds", 60}});
  ASSERT_TRUE(
      Eventually([&] { return Status().message().find("quota is 0") != std::string::npos; }));
  EXPECT_EQ(Status().state(), JobState::Pending);
  EXPECT_TRUE(
      Eventually([&] { return testing::Value(EventReasons(), testing::Contains("PodRefused")); }));
  now_ += 61;
  queue_.Add("train/a");
  ASSERT_TRUE(Eventually([&] { return Is(kFailed); }));
  EXPECT_THAT(Status().message(), HasSubstr("StartDeadlineExceeded"));
  EXPECT_THAT(Status().message(), HasSubstr("quota is 0"));
  EXPECT_TRUE(Eventually(
      [&] { return testing::Value(EventReasons(), testing::Contains("StartDeadlineExceeded")); }));
}

TEST_F(ReconcilerTest, ATemplateThatSaysWhatIsOursIsAnInvalidSpec) {
  CreateJob({}, {{"spec", {{"restartPolicy", "Always"}}}});
  ASSERT_TRUE(Eventually([&] { return Is(kFailed); }));
  EXPECT_THAT(Status().message(),
              HasSubstr("InvalidSpec: spec.worker.template.spec.restartPolicy: "));
  EXPECT_EQ(pods_.size(), 0u);
}

TEST_F(ReconcilerTest, ASuspendedJobHasNoPods_AndGoesOnWhenItMay) {
  CreateJob({{"suspend", true}});
  ASSERT_TRUE(Eventually([&] { return Is(kSuspended); }));
  EXPECT_EQ(pods_.size(), 0u);
  EXPECT_FALSE(Status().has_start_time());
  now_ += 100;
  ASSERT_TRUE(client_
                  .Patch(kJobs, {.ns = "train", .name = "a"},
                         {{"spec", {{"runPolicy", {{"suspend", false}}}}}})
                  .ok());
  StartWorkers();
  EXPECT_FALSE(Is(kSuspended));
  EXPECT_EQ(Status().start_time().seconds(), now_) << "deadlines count from here on";
}

TEST_F(ReconcilerTest, WhatDoesNotTrainHasNoSecondsLeft) {
  CreateJob({{"suspend", true}});
  ASSERT_TRUE(Eventually([&] { return Is(kSuspended); }));
  ASSERT_TRUE(kubelet_
                  .PatchStatus(kJobs, {.ns = "train", .name = "a"},
                               {{"status", {{"step", 7}, {"secondsLeft", 60}}}})
                  .ok());
  EXPECT_TRUE(Eventually([&] { return !Status().has_seconds_left(); }));
}

TEST_F(ReconcilerTest, AJobThatStartsOverAfterASuspensionSaysSo) {
  CreateJob({{"suspend", true}});
  ASSERT_TRUE(Eventually([&] { return Is(kSuspended); }));
  const kube::ObjectKey key{.ns = "train", .name = "a"};
  ASSERT_TRUE(
      kubelet_.PatchStatus(kJobs, key, {{"status", {{"step", 7}, {"accuracy", 0.5}}}}).ok());
  ASSERT_TRUE(client_.Patch(kJobs, key, {{"spec", {{"runPolicy", {{"suspend", false}}}}}}).ok());
  StartWorkers();
  EXPECT_TRUE(
      Eventually([&] { return testing::Value(EventReasons(), testing::Contains("StartedOver")); }));
  EXPECT_TRUE(Eventually([&] { return !Status().has_accuracy(); })) << "of what is no more";
}

TEST_F(ReconcilerTest, ANewPodFollowsTheTemplateAsItIsByThen) {
  CreateJob();
  StartWorkers();
  const Json template_now = {{"metadata", {{"labels", {{"team", "vision"}}}}}};
  ASSERT_TRUE(client_
                  .Patch(kJobs, {.ns = "train", .name = "a"},
                         {{"spec", {{"worker", {{"template", template_now}}}}}})
                  .ok());
  ASSERT_TRUE(Eventually([&] {
    return kube::JsonText(*jobs_.Get({.ns = "train", .name = "a"})).find("vision") !=
           std::string::npos;
  }));
  // One look may be under way, with the job as it was.
  const int looks = looks_;
  ASSERT_TRUE(Eventually([&] {
    queue_.Add("train/a");
    return looks_ >= looks + 2;
  }));
  SetPod(WorkerPod(0), {{"phase", "Failed"}});
  const std::string next = absl::StrCat("a-0-1-", uid_);
  ASSERT_TRUE(Eventually([&] { return HasPod(next); }));
  EXPECT_EQ(kube::Label(*server_->Find(kPodFolder + next), "team"), "vision");
}

TEST_F(ReconcilerTest, ItsOwnWritesDontHaveItLookAgain) {
  CreateJob();
  StartWorkers();
  ASSERT_TRUE(Eventually([&] { return Status().desired_workers() == 2; }));
  // Every look from here on finds more of it, that would be worth a write.
  for (const int worker : {0, 1}) {
    const auto bound = client_.Patch(cluster::kPods, {.ns = "train", .name = WorkerPod(worker)},
                                     {{"spec", {{"nodeName", "node-1"}}}});
    ASSERT_TRUE(bound.ok()) << bound.status();
  }
  ticking_ = true;
  ASSERT_TRUE(Eventually([&] {
    queue_.Add("train/a");
    return Status().device_seconds_held() > 0;
  }));
  const int first = looks_;
  for (int i = 0; i < 20; ++i) {
    const int before = looks_;
    queue_.Add("train/a");
    ASSERT_TRUE(Eventually([&] { return looks_ > before; }));
  }
  EXPECT_LE(looks_ - first, 25) << "twenty were asked for";
}

TEST_F(ReconcilerTest, SuspendTakesThePodsAway) {
  CreateJob();
  StartWorkers();
  ASSERT_TRUE(client_
                  .Patch(kJobs, {.ns = "train", .name = "a"},
                         {{"spec", {{"runPolicy", {{"suspend", true}}}}}})
                  .ok());
  ASSERT_TRUE(Eventually([&] { return Is(kSuspended); }));
  EXPECT_FALSE(HasPod(WorkerPod(0)));
  EXPECT_EQ(Status().desired_workers(), 0);
}

TEST_F(ReconcilerTest, ASuspensionFindsWorkersOfAnotherLeader_TheyStopInGoodOrder) {
  CreateStartedJob({{"suspend", true}});
  ASSERT_TRUE(Eventually([&] { return Is(kSuspended); }));
  EXPECT_FALSE(HasPod(WorkerPod(0)));
  EXPECT_TRUE(
      Eventually([&] { return testing::Value(EventReasons(), testing::Contains("Stopped")); }));
}

TEST_F(ReconcilerTest, APodThatEndsJustBeforeTheRunBeginsIsReplaced) {
  std::atomic<bool> ended = false;
  front_->Set([&](const kube::HttpRequest& request) -> std::optional<kube::HttpResponse> {
    // The status of the job's start, for which its pods have been looked at.
    if (request.method == kube::Method::kPatch &&
        absl::StrContains(request.target, "/freezepipejobs/a/status") && !ended.exchange(true)) {
      SetPod(WorkerPod(1), {{"phase", "Failed"}});
      EXPECT_TRUE(Eventually([&] {
        const auto pod = pods_.Get({.ns = "train", .name = WorkerPod(1)});
        return pod && kube::TextAt(*pod, Json::json_pointer("/status/phase")) == "Failed";
      }));
    }
    return std::nullopt;
  });
  CreateStartedJob(Json::object());
  EXPECT_TRUE(Eventually([&] { return HasPod(absl::StrCat("a-1-1-", uid_)); }));
}

TEST_F(ReconcilerTest, AJobThatIsOverIsDeletedInItsTime) {
  CreateJob({{"ttlSecondsAfterFinished", 30}}, {{"spec", {{"restartPolicy", "Always"}}}});
  ASSERT_TRUE(Eventually([&] { return Is(kFailed); }));
  now_ += 29;
  ASSERT_TRUE(Eventually([&] {
    queue_.Add("train/a");
    return looks_again_in_.load() == kube::Duration(std::chrono::seconds(1));
  }));
  now_ += 1;
  queue_.Add("train/a");
  EXPECT_TRUE(Eventually([&] { return !server_->Find(kJobPath).has_value(); }));
}

TEST_F(ReconcilerTest, AnotherJobMayComeUnderTheNameOfADeletedOne) {
  CreateJob();
  StartWorkers();
  const std::string former = WorkerPod(0);
  ASSERT_TRUE(client_.Delete(kJobs, {.ns = "train", .name = "a"}).ok());
  CreateJob();
  StartWorkers();
  EXPECT_NE(WorkerPod(0), former);
}

TEST_F(ReconcilerTest, AJobOfAnotherControllerIsLeftAlone) {
  CreateJob({{"managedBy", "someone.else/controller"}});
  ASSERT_TRUE(Eventually([&] { return jobs_.size() == 1; }));
  queue_.Add("train/a");
  ASSERT_TRUE(Eventually([&] { return queue_.waiting() == 0; }));
  EXPECT_FALSE(server_->Find(kJobPath)->contains("status"));
  EXPECT_EQ(pods_.size(), 0u);
}

}  // namespace
}  // namespace freezepipe::reconciler
