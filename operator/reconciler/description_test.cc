#include "operator/reconciler/description.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "operator/cluster/kubernetes/job_pod.h"
#include "operator/kube/fake_api_server.h"

namespace freezepipe::reconciler {
namespace {

using kube::Json;

/// The API server with a describe pod that the test lets end.
class DescriptionTest : public testing::Test {
 protected:
  DescriptionTest() {
    const Json job = {{"apiVersion", "freezepipe.io/v1alpha1"},
                      {"kind", "FreezePipeJob"},
                      {"metadata", {{"namespace", "train"}, {"name", "a"}, {"uid", "12345678"}}},
                      {"spec", {{"worker", {{"count", 1}}}}}};
    EXPECT_TRUE(client_.Create(cluster::kPods, cluster::MakeDescribePod(job, {})).ok());
  }

  absl::StatusOr<std::optional<v1alpha1::JobDescription>> After(const std::string& phase,
                                                                const std::string& log) {
    server_->SetLog("/api/v1/namespaces/train/pods/" + key_.name, log);
    const auto pod = client_.PatchStatus(cluster::kPods, key_, {{"status", {{"phase", phase}}}});
    EXPECT_TRUE(pod.ok()) << pod.status();
    return ReadDescription(client_, *pod);
  }

  const kube::ObjectKey key_{.ns = "train", .name = "a-describe-1-12345678"};
  std::shared_ptr<kube::FakeApiServer> server_ = std::make_shared<kube::FakeApiServer>();
  kube::Client client_{server_, {}};
};

TEST_F(DescriptionTest, IsNotThereWhileThePodRuns) {
  const auto read = After("Running", "");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value());
}

TEST_F(DescriptionTest, IsTheLastLineOfTheLog) {
  const auto read = After("Succeeded",
                          "a library's warning\n{\"classes\":10,\"faults\":[{\"path\":"
                          "\"spec.model\",\"message\":\"no\"}]}\n");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->classes(), 10);
  EXPECT_EQ((*read)->faults_size(), 1) << "faults are an answer";
  EXPECT_NE(server_->Requests().back().find("container=worker"), std::string::npos);
}

TEST_F(DescriptionTest, APodThatFailedSaysItsLastWords) {
  const auto read = After("Failed", "starting\nfreezepipe-worker: no memory\n");
  EXPECT_TRUE(absl::IsFailedPrecondition(read.status()));
  EXPECT_EQ(read.status().message(),
            "pod a-describe-1-12345678 failed; last log line: freezepipe-worker: no memory");
}

TEST_F(DescriptionTest, AnAnswerOfAnotherKindIsAnError) {
  EXPECT_TRUE(absl::IsFailedPrecondition(After("Succeeded", "hello\n").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(After("Succeeded", "").status()));
}

}  // namespace
}  // namespace freezepipe::reconciler
