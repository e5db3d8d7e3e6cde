#include <gtest/gtest.h>

#include <chrono>

#include "operator/cluster/kubernetes/labels.h"
#include "operator/reconciler/backoff_limit.h"
#include "operator/reconciler/clean_pods.h"
#include "operator/reconciler/deadlines.h"
#include "operator/reconciler/device_time.h"
#include "operator/reconciler/time_to_live.h"

namespace freezepipe::reconciler {
namespace {

using kube::Json;
using std::chrono::seconds;
using v1alpha1::CleanPodPolicy;
using v1alpha1::JobState;

kube::WallTime At(int time) { return std::chrono::system_clock::from_time_t(time); }

Snapshot Running(int started, int now) {
  Snapshot snapshot;
  snapshot.status.set_state(JobState::Running);
  snapshot.status.mutable_start_time()->set_seconds(started);
  snapshot.now = At(now);
  return snapshot;
}

kube::Object Pod(const std::string& name, const std::string& phase, const std::string& node = "n") {
  return std::make_shared<const Json>(
      Json{{"metadata", {{"name", name}, {"labels", {{cluster::kWorkerLabel, "0"}}}}},
           {"spec", {{"nodeName", node}}},
           {"status", {{"phase", phase}}}});
}

std::string Names(const std::vector<kube::Object>& pods) {
  std::string names;
  for (const auto& pod : pods) names += kube::KeyOf(*pod).name + " ";
  return names;
}

TEST(Deadlines, TheActiveOneCountsFromTheStart) {
  Snapshot snapshot = Running(1000, 1059);
  EXPECT_FALSE(MissedDeadline(snapshot)) << "none given";
  EXPECT_FALSE(UntilDeadline(snapshot));
  snapshot.spec.mutable_run_policy()->set_active_deadline_seconds(60);
  EXPECT_FALSE(MissedDeadline(snapshot));
  EXPECT_EQ(UntilDeadline(snapshot), seconds(1));
  snapshot.now = At(1060);
  EXPECT_EQ(MissedDeadline(snapshot), "DeadlineExceeded: the job ran for longer than its 60 s");
}

TEST(Deadlines, TheOneForTheStartSaysWhatIsStillMissing) {
  Snapshot snapshot = Running(1000, 1100);
  snapshot.status.set_state(JobState::Starting);
  snapshot.spec.mutable_run_policy()->set_start_deadline_seconds(60);
  Json pod = *Pod("a-0", "Pending");
  snapshot.pods = {std::make_shared<const Json>(pod)};
  EXPECT_EQ(MissedDeadline(snapshot),
            "StartDeadlineExceeded: not all workers were there within 60 s; pod a-0 has not "
            "started yet");
  pod["status"]["initContainerStatuses"] = {
      {{"name", "fetch"}, {"state", {{"running", Json::object()}}}}};
  snapshot.pods = {std::make_shared<const Json>(pod)};
  EXPECT_EQ(MissedDeadline(snapshot),
            "StartDeadlineExceeded: not all workers were there within 60 s; pod a-0 is still in "
            "its init container fetch");
}

TEST(Deadlines, TheOneForTheStartEndsWithIt) {
  Snapshot snapshot = Running(1000, 1100);
  snapshot.spec.mutable_run_policy()->set_start_deadline_seconds(60);
  EXPECT_FALSE(MissedDeadline(snapshot));
  snapshot.status.set_state(JobState::Starting);
  EXPECT_EQ(MissedDeadline(snapshot),
            "StartDeadlineExceeded: not all workers were there within 60 s");
}

TEST(BackoffLimit, CountsLossesButNoDisruptions) {
  Snapshot snapshot = Running(0, 0);
  snapshot.spec.mutable_run_policy()->set_backoff_limit(2);
  snapshot.status.set_restarts(2);
  snapshot.status.set_disruptions(9);
  EXPECT_FALSE(ExceededBackoff(snapshot));
  snapshot.status.set_restarts(3);
  snapshot.status.set_message("worker 1 was lost: exited with status 1");
  EXPECT_EQ(ExceededBackoff(snapshot),
            "BackoffLimitExceeded: 3 workers were lost, runPolicy.backoffLimit is 2; the last: "
            "worker 1 was lost: exited with status 1");
}

TEST(TimeToLive, BeginsAtTheEnd) {
  Snapshot snapshot = Running(0, 100);
  EXPECT_FALSE(TimeToLive(snapshot));
  snapshot.spec.mutable_run_policy()->set_ttl_seconds_after_finished(0);
  EXPECT_FALSE(TimeToLive(snapshot)) << "it hasn't ended";
  snapshot.status.mutable_completion_time()->set_seconds(90);
  EXPECT_EQ(TimeToLive(snapshot), seconds(-10));
}

TEST(CleanPods, AsThePolicySays) {
  Snapshot snapshot = Running(0, 100);
  snapshot.status.set_state(JobState::Failed);
  snapshot.pods = {Pod("running", "Running"), Pod("ended", "Succeeded"), Pod("broken", "Failed")};
  auto going = *Pod("going", "Running");
  going["metadata"]["deletionTimestamp"] = "2023-11-14T22:13:20Z";
  snapshot.pods.push_back(std::make_shared<const Json>(going));
  const auto cleaned = [&](CleanPodPolicy::Type policy) {
    snapshot.spec.mutable_run_policy()->set_clean_pod_policy(policy);
    return Names(PodsToClean(snapshot));
  };
  EXPECT_EQ(cleaned(CleanPodPolicy::Running), "running ");
  EXPECT_EQ(cleaned(CleanPodPolicy::All), "running ended broken ");
  EXPECT_EQ(cleaned(CleanPodPolicy::None), "");
  snapshot.status.set_state(JobState::Suspended);
  EXPECT_EQ(cleaned(CleanPodPolicy::None), "running ") << "a suspended job holds no device";
}

TEST(DeviceTime, AddsWhatIsHeldAndWhatIsFree) {
  DeviceTime time;
  Snapshot snapshot = Running(0, 100);
  v1alpha1::FreezePipeJobStatus status;
  status.set_device_seconds_held(1000);
  const auto written = [&] {
    auto now = status;
    time.AddTo(&now);
    return now;
  };
  snapshot.pods = {Pod("a", "Running"), Pod("b", "Pending"), Pod("waits", "Pending", ""),
                   Pod("ended", "Succeeded")};
  EXPECT_FALSE(time.passes());
  time.Look(snapshot);
  EXPECT_EQ(written().device_seconds_held(), 1000) << "before the first look nothing is known";
  EXPECT_TRUE(time.passes());

  snapshot.now = At(110);
  snapshot.status.set_freed_workers(1);
  time.Look(snapshot);
  EXPECT_EQ(written().device_seconds_held(), 1020);
  EXPECT_EQ(written().device_seconds_held(), 1020) << "the first try may have failed";
  EXPECT_EQ(written().device_seconds_saved(), 0);

  snapshot.now = At(115);
  time.Look(snapshot);
  EXPECT_EQ(written().device_seconds_held(), 1030);
  EXPECT_EQ(written().device_seconds_saved(), 5);
  status = written();
  time.Written();
  EXPECT_EQ(written().device_seconds_held(), 1030) << "each second once";
}

}  // namespace
}  // namespace freezepipe::reconciler
