#include "operator/reconciler/status_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include "operator/kube/eventually.h"
#include "operator/kube/fake_api_server.h"
#include "operator/kube/interrupted_server.h"
#include "operator/reconciler/job_status.h"

namespace freezepipe::reconciler {
namespace {

using kube::Json;
using v1alpha1::FreezePipeJobStatus;
using v1alpha1::JobState;

constexpr char kPath[] = "/apis/freezepipe.io/v1alpha1/namespaces/train/freezepipejobs/fashion";

class StatusStoreTest : public testing::Test {
 protected:
  StatusStoreTest() { uid_ = CreateJob(); }

  std::string CreateJob() {
    const auto job = client_.Create(
        kJobs, {{"apiVersion", "freezepipe.io/v1alpha1"},
                {"kind", "FreezePipeJob"},
                {"metadata", {{"namespace", "train"}, {"name", "fashion"}, {"generation", 4}}},
                {"spec", {{"worker", {{"count", 2}}}}}});
    EXPECT_TRUE(job.ok()) << job.status();
    return kube::Uid(*job);
  }

  StatusStore Store(int term) {
    return StatusStore(client_, key_, uid_, term, [this] { return now_; });
  }
  static FreezePipeJobStatus InState(JobState::Type state) {
    FreezePipeJobStatus status;
    status.set_state(state);
    return status;
  }
  Json Known() { return server_->Find(kPath).value_or(Json()); }
  Json Stored() { return server_->Find(kPath).value_or(Json()).value("status", Json()); }
  /// What Write throws.
  static std::string ErrorOf(StatusStore&& store, const FreezePipeJobStatus& status) {
    try {
      store.Write(status);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  const kube::ObjectKey key_{.ns = "train", .name = "fashion"};
  kube::WallTime now_ = std::chrono::system_clock::from_time_t(1'700'000'000);
  std::shared_ptr<kube::FakeApiServer> server_ = std::make_shared<kube::FakeApiServer>();
  std::stop_source stop_;
  kube::Client client_{server_, {.stop = stop_.get_token()}};
  std::string uid_;
};

TEST_F(StatusStoreTest, TheRecordIsTheJobsStatus) {
  auto store = Store(7);
  FreezePipeJobStatus status = InState(JobState::Running);
  status.set_message("going well");
  status.set_generation(2);
  status.set_checkpoint_step(40);
  store.Write(status);
  EXPECT_EQ(Stored()["state"], "Running");
  EXPECT_EQ(Stored()["generation"], 2);
  EXPECT_EQ(Stored()["term"], 7);
  EXPECT_EQ(Stored()["observedGeneration"], 4);
  EXPECT_EQ(Stored()["startTime"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(Stored()["conditions"].size(), 5u);
  EXPECT_FALSE(Stored().contains("completionTime"));

  // Nothing of the former record stays that the new one doesn't have.
  now_ += std::chrono::seconds(10);
  status.clear_checkpoint_step();
  status.set_state(JobState::Succeeded);
  store.Write(status);
  EXPECT_FALSE(Stored().contains("checkpointStep"));
  EXPECT_EQ(Stored()["startTime"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(Stored()["completionTime"], "2023-11-14T22:13:30Z");
  EXPECT_EQ(server_->Find(kPath)->at("spec")["worker"]["count"], 2);
}

TEST_F(StatusStoreTest, ADeposedLeaderWritesNothing) {
  auto successor = Store(8);
  successor.Write(InState(JobState::Running));
  const std::string error = ErrorOf(Store(7), InState(JobState::Failed));
  EXPECT_NE(error.find("deposed"), std::string::npos) << error;
  EXPECT_EQ(Stored()["state"], "Running");
  EXPECT_EQ(Stored()["term"], 8);
}

TEST_F(StatusStoreTest, AChangeBetweenReadAndWriteIsReadAnew) {
  // The job changes when it has been read, before it is written for the first time.
  bool changed = false;
  const auto change = [&](const kube::HttpRequest& request) -> std::optional<kube::HttpResponse> {
    if (request.method == kube::Method::kPatch && !std::exchange(changed, true)) {
      EXPECT_TRUE(client_.Patch(kJobs, key_, {{"metadata", {{"generation", 5}}}}).ok());
    }
    return std::nullopt;
  };
  kube::Client client(std::make_shared<kube::InterruptedServer>(server_, change), {});
  StatusStore store(client, key_, uid_, 1);
  store.Write(InState(JobState::Running));
  EXPECT_EQ(Stored()["observedGeneration"], 5);
}

TEST_F(StatusStoreTest, WaitsForAnAPIServerThatIsAway) {
  server_->SetAway(true);
  auto store = Store(1);
  std::jthread writer([&] { store.Write(InState(JobState::Running)); });
  ASSERT_TRUE(kube::Eventually([&] {
    const auto requests = server_->Requests();
    return std::count(requests.begin(), requests.end(), std::string("GET ") + kPath) >= 1;
  }));
  server_->SetAway(false);
  writer.join();
  EXPECT_EQ(Stored()["state"], "Running");
}

TEST_F(StatusStoreTest, WhatTheOperatorSaysStaysWhenTheSessionWrites) {
  auto store = Store(1);
  ASSERT_TRUE(store
                  .Update(Known(), Pods::kMayRun,
                          [](FreezePipeJobStatus* status) {
                            status->set_ready_workers(3);
                            auto* stage = status->add_stages();
                            stage->add_workers(5);
                            stage->add_pods("fashion-5");
                            stage->add_nodes("node-2");
                          })
                  .ok());
  FreezePipeJobStatus status = InState(JobState::Running);
  status.add_stages()->add_workers(4);
  status.add_stages()->add_workers(5);
  store.Write(status);
  EXPECT_EQ(Stored()["readyWorkers"], 3);
  EXPECT_EQ(Stored()["stages"][0]["pods"][0], "") << "of worker 4 nothing was said";
  EXPECT_EQ(Stored()["stages"][1]["pods"][0], "fashion-5");
  EXPECT_EQ(Stored()["stages"][1]["nodes"][0], "node-2");
}

TEST_F(StatusStoreTest, WhatIsSoAlreadyIsNotWritten) {
  auto store = Store(1);
  const auto say = [&] {
    return store.Update(Known(), Pods::kMayRun,
                        [](FreezePipeJobStatus* status) { status->set_step(7); });
  };
  ASSERT_TRUE(say().ok());
  const Json once = *server_->Find(kPath);
  ASSERT_TRUE(say().ok());
  EXPECT_EQ(*server_->Find(kPath), once);
}

TEST_F(StatusStoreTest, WhatIsKnownIsReadAnewIfItIsOutOfDate) {
  auto store = Store(1);
  const Json known = Known();
  const auto count = [&](const std::string& request) {
    const auto requests = server_->Requests();
    return std::count(requests.begin(), requests.end(), request + kPath);
  };
  const auto add_a_step = [](FreezePipeJobStatus* status) { status->set_step(status->step() + 1); };
  ASSERT_TRUE(store.Update(known, Pods::kMayRun, add_a_step).ok());
  EXPECT_EQ(Stored()["step"], 1);
  EXPECT_EQ(count("GET "), 0) << "one request is enough";
  ASSERT_TRUE(store.Update(known, Pods::kMayRun, add_a_step).ok());
  EXPECT_EQ(Stored()["step"], 2);
  EXPECT_EQ(count("GET "), 1);
}

TEST_F(StatusStoreTest, ASessionThatBeginsWithASuspendedJobsRecordLeavesTheStartTime) {
  auto store = Store(1);
  store.Write(InState(JobState::Starting));
  now_ += std::chrono::seconds(10);
  store.Write(InState(JobState::Suspended));
  EXPECT_EQ(Stored()["startTime"], "2023-11-14T22:13:20Z");
}

TEST_F(StatusStoreTest, AJobIsCompleteOnceItsPodsHaveEnded) {
  auto store = Store(1);
  const auto complete = [&] {
    const auto status = ReadStatus(*server_->Find(kPath));
    return status.ok() && IsOver(*status);
  };
  store.Write(InState(JobState::Succeeded));
  EXPECT_FALSE(complete());
  ASSERT_TRUE(store.Update(Known(), Pods::kEnded, [](FreezePipeJobStatus*) {}).ok());
  EXPECT_TRUE(complete());
}

TEST_F(StatusStoreTest, AStoppedClientEndsTheWait) {
  server_->SetAway(true);
  stop_.request_stop();
  EXPECT_NE(ErrorOf(Store(1), InState(JobState::Running)), "");
}

TEST_F(StatusStoreTest, ADeletedJobHasNoStatus_NorHasAnotherOfItsName) {
  ASSERT_TRUE(client_.Delete(kJobs, key_).ok());
  EXPECT_NE(ErrorOf(Store(1), InState(JobState::Running)), "");
  auto store = Store(1);
  CreateJob();
  const std::string error = ErrorOf(std::move(store), InState(JobState::Running));
  EXPECT_NE(error.find("deleted"), std::string::npos) << error;
  EXPECT_TRUE(Stored().is_null());
}

}  // namespace
}  // namespace freezepipe::reconciler
