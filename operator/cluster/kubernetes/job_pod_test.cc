#include "operator/cluster/kubernetes/job_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/cluster/kubernetes/test_jobs.h"

namespace freezepipe::cluster {
namespace {

using kube::Json;
using testing::Contains;
using testing::ElementsAre;

const PodOptions kOptions{.coordinator = "freezepipe:7070", .image = "freezepipe/worker:1"};

TEST(JobPod, IsTheJobsOwnAndNamedAfterAttemptAndUid) {
  const Json pod = MakeWorkerPod(TestJob(), 1, 4, kOptions);
  EXPECT_EQ(pod["apiVersion"], "v1");
  EXPECT_EQ(pod["kind"], "Pod");
  EXPECT_EQ(kube::KeyText(kube::KeyOf(pod)), "train/fashion-1-4-3f2a9c1d");
  EXPECT_EQ(kube::ControllerUid(pod), kube::Uid(TestJob()));
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["kind"], "FreezePipeJob");
  EXPECT_EQ(kube::Label(pod, "freezepipe.io/job"), "fashion");
  EXPECT_EQ(kube::Label(pod, "freezepipe.io/job-uid"), "3f2a9c1d-0000-0000-0000-1");
  EXPECT_EQ(WorkerOf(pod), 1);
  EXPECT_EQ(AttemptOf(pod), 4);
}

TEST(JobPod, RunsTheWorkerOfTheJob) {
  const Json pod = MakeWorkerPod(TestJob(), 1, 0, kOptions);
  EXPECT_EQ(pod["spec"]["restartPolicy"], "Never");
  ASSERT_EQ(pod["spec"]["containers"].size(), 1u);
  const Json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["image"], "freezepipe/worker:1");
  EXPECT_THAT(container["args"].get<std::vector<std::string>>(),
              ElementsAre("train", "--coordinator", "freezepipe:7070", "--worker", "1", "--job",
                          "train/fashion/3f2a9c1d-0000-0000-0000-1", "--host", "$(POD_IP)",
                          "--node", "$(NODE_NAME)", "--device", "auto"));
  EXPECT_THAT(container["env"],
              Contains(Json{{"name", "POD_IP"},
                            {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}}));
  EXPECT_THAT(container["env"], Contains(Json{{"name", "OMP_NUM_THREADS"}, {"value", "3"}}));
}

TEST(JobPod, FitsTheRestrictedProfileWhereTheTemplateIsSilent) {
  const Json spec = MakeWorkerPod(TestJob(), 0, 0, kOptions)["spec"];
  EXPECT_EQ(spec["securityContext"]["runAsNonRoot"], true);
  EXPECT_EQ(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
  const Json& container = spec["containers"][0]["securityContext"];
  EXPECT_EQ(container["allowPrivilegeEscalation"], false);
  EXPECT_EQ(container["capabilities"], (Json{{"drop", {"ALL"}}}));
  EXPECT_EQ(spec["automountServiceAccountToken"], false);
}

TEST(JobPod, KnowsTheCoordinatorAndIsKnownByItsToken) {
  const Json pod_template = {
      {"spec",
       {{"volumes", {{{"name", "data"}}}},
        {"containers",
         {{{"name", "sidecar"}, {"image", "side"}},
          {{"name", "worker"}, {"volumeMounts", {{{"name", "data"}, {"mountPath", "/data"}}}}}}}}}};
  PodOptions options = kOptions;
  const Json without = MakeWorkerPod(TestJob(pod_template), 0, 0, options)["spec"];
  EXPECT_EQ(without["volumes"].size(), 1u);
  EXPECT_EQ(without["containers"][1]["volumeMounts"].size(), 1u);
  EXPECT_EQ(without.dump().find("FREEZEPIPE_"), std::string::npos);

  options.coordinator_ca = "PEM";
  options.token_audience = "coordinator";
  const Json spec = MakeWorkerPod(TestJob(pod_template), 0, 0, options)["spec"];
  ASSERT_EQ(spec["volumes"].size(), 2u);
  EXPECT_EQ(
      spec["volumes"][1]["projected"]["sources"],
      Json::array(
          {{{"serviceAccountToken",
             {{"audience", "coordinator"}, {"expirationSeconds", 3600}, {"path", "token"}}}}}));
  EXPECT_EQ(spec["automountServiceAccountToken"], false);
  EXPECT_FALSE(spec["containers"][0].contains("volumeMounts")) << "the token is the worker's alone";
  const Json& worker = spec["containers"][1];
  ASSERT_EQ(worker["volumeMounts"].size(), 2u);
  EXPECT_EQ(worker["volumeMounts"][1]["name"], spec["volumes"][1]["name"]);
  EXPECT_EQ(worker["volumeMounts"][1]["readOnly"], true);
  const std::string folder = worker["volumeMounts"][1]["mountPath"];
  EXPECT_THAT(worker["env"],
              Contains(Json{{"name", "FREEZEPIPE_COORDINATOR_CA"}, {"value", "PEM"}}));
  EXPECT_THAT(worker["env"],
              Contains(Json{{"name", "FREEZEPIPE_TOKEN_FILE"}, {"value", folder + "/token"}}));
}

TEST(JobPod, HasRoomForOutputsOfFrozenLayersWhereTheJobWantsIt) {
  Json job = TestJob({{"spec", {{"volumes", {{{"name", "data"}}}}}}});
  job["spec"]["freeze"]["policy"] = "GradientChange";
  job["spec"]["freeze"]["cache"] = {{"memoryLimit", "1Gi"}, {"diskLimit", "0"}};
  Json spec = MakeWorkerPod(job, 0, 0, kOptions)["spec"];
  ASSERT_EQ(spec["volumes"].size(), 2u);
  EXPECT_EQ(spec["volumes"][1]["emptyDir"], (Json{{"medium", "Memory"}}));
  Json container = spec["containers"][0];
  ASSERT_EQ(container["volumeMounts"].size(), 1u);
  EXPECT_EQ(container["volumeMounts"][0]["name"], spec["volumes"][1]["name"]);
  EXPECT_THAT(container["args"].get<std::vector<std::string>>(), Contains("--cache-memory"));
  EXPECT_EQ(container["args"].back(), container["volumeMounts"][0]["mountPath"]);

  job["spec"]["freeze"]["cache"] = {{"memoryLimit", "0"}, {"diskLimit", "20Gi"}};
  spec = MakeWorkerPod(job, 0, 0, kOptions)["spec"];
  ASSERT_EQ(spec["volumes"].size(), 2u);
  EXPECT_EQ(spec["volumes"][1]["emptyDir"], Json::object());
  container = spec["containers"][0];
  EXPECT_EQ(container["args"][container["args"].size() - 2], "--cache-disk");
  EXPECT_EQ(container["args"].back(), container["volumeMounts"][0]["mountPath"]);

  // An autoscaler may take the node away under both.
  job["spec"]["freeze"]["cache"]["memoryLimit"] = "1Gi";
  job["spec"]["worker"]["template"]["metadata"]["annotations"] = {{"team", "vision"}};
  EXPECT_EQ(MakeWorkerPod(job, 0, 0, kOptions)["metadata"]["annotations"],
            (Json{{"team", "vision"},
                  {"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
                   "freezepipe-cache-memory,freezepipe-cache-disk"}}));
  job["spec"]["freeze"]["policy"] = "None";
  spec = MakeWorkerPod(job, 0, 0, kOptions)["spec"];
  EXPECT_EQ(spec["volumes"].size(), 1u);
}

TEST(JobPod, SaysWhoseItIs) {
  EXPECT_EQ(JobId(TestJob()), "train/fashion/3f2a9c1d-0000-0000-0000-1");
  EXPECT_EQ(JobIdOf(MakeWorkerPod(TestJob(), 0, 0, kOptions)), JobId(TestJob()));
}

TEST(JobPod, CarriesTheTemplate) {
  const Json pod_template = {
      {"metadata",
       {{"labels", {{"team", "vision"}, {"kueue.x-k8s.io/queue-name", "gpus"}}},
        {"annotations", {{"note", "kept"}}}}},
      {"spec",
       {{"nodeSelector", {{"gpu", "big"}}},
        {"securityContext", {{"runAsNonRoot", false}, {"fsGroup", 7}}},
        {"initContainers", {{{"name", "fetch"}, {"image", "fetcher"}}}},
        {"containers",
         {{{"name", "sidecar"}, {"image", "side"}, {"args", {"a"}}},
          {{"name", "worker"},
           {"image", "mine:2"},
           {"env", {{{"name", "KEY"}, {"value", "v"}}}},
           {"resources", {{"limits", {{"nvidia.com/gpu", 1}}}}}}}}}}};
  const Json pod = MakeWorkerPod(TestJob(pod_template), 0, 0, kOptions);
  EXPECT_EQ(kube::Label(pod, "team"), "vision");
  EXPECT_FALSE(pod["metadata"]["labels"].contains("kueue.x-k8s.io/queue-name"))
      << "it would be queued a second time";
  EXPECT_EQ(pod["metadata"]["annotations"]["note"], "kept");
  const Json& spec = pod["spec"];
  EXPECT_EQ(spec["nodeSelector"]["gpu"], "big");
  EXPECT_EQ(spec["securityContext"]["runAsNonRoot"], false);
  EXPECT_EQ(spec["securityContext"]["fsGroup"], 7);
  EXPECT_EQ(spec["initContainers"][0]["securityContext"]["allowPrivilegeEscalation"], false);
  EXPECT_EQ(spec["containers"][0]["args"], Json({"a"}));
  const Json& worker = spec["containers"][1];
  EXPECT_EQ(worker["image"], "mine:2");
  EXPECT_EQ(worker["args"][0], "train");
  EXPECT_EQ(worker["env"][0]["name"], "KEY");
  EXPECT_EQ(worker["resources"]["limits"]["nvidia.com/gpu"], 1);
}

}  // namespace
}  // namespace freezepipe::cluster
