#include "cmd/freezepipe-trial/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "operator/kube/fake_api_server.h"

namespace freezepipe::trial {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr kube::Resource kJobs{"freezepipe.io", "v1alpha1", "freezepipejobs"};
constexpr char kPath[] = "/apis/freezepipe.io/v1alpha1/namespaces/train/freezepipejobs/trial";
const Options kQuick = {.limit = std::chrono::minutes(1),
                        .poll_period = std::chrono::milliseconds(1)};

Json Job() {
  return {{"apiVersion", "freezepipe.io/v1alpha1"},
          {"kind", "FreezePipeJob"},
          {"metadata", {{"namespace", "train"}, {"name", "trial"}}},
          {"spec", Json::object()}};
}

class TrialTest : public testing::Test {
 protected:
  /// What an operator would write.
  void SetStatus(const Json& status) {
    ASSERT_TRUE(client_.PatchStatus(kJobs, {"train", "trial"}, {{"status", status}}).ok());
  }
  /// The condition comes after the first line that is told.
  absl::Status TryUntil(const Json& condition, const Options& options = kQuick) {
    return Try(client_, Job(), options, [&](const std::string& line) {
      lines_.push_back(line);
      if (lines_.size() == 1) SetStatus({{"state", "Running"}, {"conditions", {condition}}});
    });
  }

  const std::shared_ptr<kube::FakeApiServer> server_ = std::make_shared<kube::FakeApiServer>();
  kube::Client client_{server_, {}};
  std::vector<std::string> lines_;
};

TEST_F(TrialTest, TellsOfChangesAndLeavesNothingBehind) {
  EXPECT_TRUE(TryUntil({{"type", "Complete"}, {"status", "True"}}).ok());
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("not seen yet"), HasSubstr("Running")));
  EXPECT_EQ(server_->Find(kPath), std::nullopt);
}

TEST_F(TrialTest, AFailureSaysWhyAndTheJobStays) {
  const absl::Status status = TryUntil(
      {{"type", "Failed"}, {"status", "True"}, {"reason", "DataError"}, {"message", "no file"}});
  EXPECT_EQ(status.message(), "DataError: no file");
  EXPECT_NE(server_->Find(kPath), std::nullopt);
}

TEST_F(TrialTest, TooLateSaysWhatItWaitsFor) {
  const Options options = {.limit = std::chrono::milliseconds(50),
                           .poll_period = std::chrono::milliseconds(1)};
  const absl::Status status = TryUntil({{"type", "Running"},
                                        {"status", "False"},
                                        {"reason", "Unschedulable"},
                                        {"message", "no nodes"}},
                                       options);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Unschedulable: no nodes"));
}

TEST_F(TrialTest, TakesThePlaceOfAnEarlierTrial) {
  Json earlier = Job();
  earlier["metadata"]["labels"] = {{"earlier", "yes"}};
  ASSERT_TRUE(client_.Create(kJobs, earlier).ok());
  EXPECT_TRUE(Try(client_, Job(), kQuick, [&](const std::string&) {
                EXPECT_EQ(kube::Label(*server_->Find(kPath), "earlier"), "");
                SetStatus({{"conditions", {{{"type", "Complete"}, {"status", "True"}}}}});
              }).ok());
}

}  // namespace
}  // namespace freezepipe::trial
