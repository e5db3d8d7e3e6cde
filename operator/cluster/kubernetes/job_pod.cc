#include "operator/cluster/kubernetes/job_pod.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <utility>

#include "operator/cluster/kubernetes/labels.h"

namespace freezepipe::cluster {
namespace {

using kube::Json;
using Pointer = Json::json_pointer;

/// Characters of the job's uid in a pod's name: a job that comes under the name of a deleted one
/// never meets its pods.
constexpr size_t kUidCharacters = 8;
/// Kueue would count a pod with it as a workload of its own, beside the job.
constexpr char kQueueLabel[] = "kueue.x-k8s.io/queue-name";

Json At(const Json& object, const char* pointer, Json otherwise) {
  return object.value(Pointer(pointer), std::move(otherwise));
}

void SetIfSilent(Json& object, const char* name, Json value) {
  if (!object.contains(name)) object[name] = std::move(value);
}

Json Owner(const Json& job) {
  return {{"apiVersion", kube::TextAt(job, Pointer("/apiVersion"))},
          {"kind", kube::TextAt(job, Pointer("/kind"))},
          {"name", kube::KeyOf(job).name},
          {"uid", kube::Uid(job)},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

Json FieldVariable(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

void RestrictContainers(Json& spec, const char* list) {
  if (!spec.contains(list)) return;
  for (Json& container : spec[list]) {
    Json& security = container["securityContext"];
    SetIfSilent(security, "allowPrivilegeEscalation", false);
    SetIfSilent(security, "capabilities", {{"drop", {"ALL"}}});
  }
}

/// Pod Security's profile "restricted", where the template doesn't say otherwise.
void Restrict(Json& spec) {
  Json& security = spec["securityContext"];
  SetIfSilent(security, "runAsNonRoot", true);
  SetIfSilent(security, "seccompProfile", {{"type", "RuntimeDefault"}});
  RestrictContainers(spec, "containers");
  RestrictContainers(spec, "initContainers");
  SetIfSilent(spec, "automountServiceAccountToken", false);
  SetIfSilent(spec, "enableServiceLinks", false);
}

Json& WorkerContainer(Json& spec) {
  Json& containers = spec["containers"];
  if (containers.empty()) containers = Json::array({{{"name", kWorkerContainer}}});
  for (Json& container : containers) {
    if (container.value("name", "") == kWorkerContainer) return container;
  }
  return containers[0];
}

Json Metadata(const Json& job, const std::string& name) {
  const Json from_template = At(job, "/spec/worker/template/metadata", Json::object());
  Json metadata = {{"namespace", kube::KeyOf(job).ns},
                   {"name", name},
                   {"labels", from_template.value("labels", Json::object())},
                   {"ownerReferences", {Owner(job)}}};
  if (from_template.contains("annotations")) metadata["annotations"] = from_template["annotations"];
  metadata["labels"].erase(kQueueLabel);
  metadata["labels"][kJobLabel] = kube::KeyOf(job).name;
  metadata["labels"][kJobUidLabel] = kube::Uid(job);
  return metadata;
}

int NumberLabel(const Json& pod, const char* label) {
  int number = -1;
  return absl::SimpleAtoi(kube::Label(pod, label), &number) ? number : -1;
}

}  // namespace

std::string JobId(const Json& job) {
  return absl::StrCat(kube::KeyText(kube::KeyOf(job)), "/", kube::Uid(job));
}

Json MakeWorkerPod(const Json& job, int worker, int attempt, const PodOptions& options) {
  const std::string name = absl::StrCat(kube::KeyOf(job).name, "-", worker, "-", attempt, "-",
                                        kube::Uid(job).substr(0, kUidCharacters));
  Json metadata = Metadata(job, name);
  metadata["labels"][kRoleLabel] = kWorkerRole;
  metadata["labels"][kWorkerLabel] = absl::StrCat(worker);
  metadata["labels"][kAttemptLabel] = absl::StrCat(attempt);

  Json spec = At(job, "/spec/worker/template/spec", Json::object());
  // A worker that ended is replaced by a new pod, whose attempt says so.
  spec["restartPolicy"] = "Never";
  Json& container = WorkerContainer(spec);
  SetIfSilent(container, "image", options.image);
  container["args"] = {"train", "--coordinator", options.coordinator, "--worker",
                       absl::StrCat(worker), "--job", JobId(job),
                       // Filled in by the kubelet.
                       "--host", "$(POD_IP)", "--node", "$(NODE_NAME)", "--device", "auto"};
  Json& environment = container["env"];
  environment.push_back(FieldVariable("POD_IP", "status.podIP"));
  environment.push_back(FieldVariable("NODE_NAME", "spec.nodeName"));
  const int threads = At(job, "/spec/worker/threads", 1).get<int>();
  environment.push_back({{"name", "OMP_NUM_THREADS"}, {"value", absl::StrCat(threads)}});
  Restrict(spec);
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)}};
}

int WorkerOf(const Json& pod) { return NumberLabel(pod, kWorkerLabel); }
int AttemptOf(const Json& pod) { return NumberLabel(pod, kAttemptLabel); }

}  // namespace freezepipe::cluster
