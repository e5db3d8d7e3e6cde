#include "operator/cluster/kubernetes/job_pod.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "operator/cluster/kubernetes/labels.h"

namespace freezepipe::cluster {
namespace {

using kube::Json;
using Pointer = Json::json_pointer;

/// Characters of the job's uid in a pod's name: a job that comes under the name of a deleted one
/// never meets its pods.
constexpr size_t kUidCharacters = 8;
constexpr char kTokenVolume[] = "freezepipe-token";
constexpr char kTokenFolder[] = "/var/run/secrets/freezepipe.io";
constexpr char kTokenName[] = "token";
/// The kubelet writes a new one when a fifth of it is left, seconds.
constexpr int kTokenLifetime = 3600;
/// Kueue would count a pod with it as a workload of its own, beside the job.
constexpr char kQueueLabel[] = "kueue.x-k8s.io/queue-name";
constexpr char kSafeToEvict[] = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
constexpr char kCheckpointVolume[] = "freezepipe-checkpoints";
struct CacheVolume {
  const char* name;
  const char* medium;  // null: the node's disk
  const char* mount;
  const char* argument;  // of the worker
};
constexpr CacheVolume kMemoryCache{"freezepipe-cache-memory", "Memory", "/freezepipe/cache-memory",
                                   "--cache-memory"};
constexpr CacheVolume kDiskCache{"freezepipe-cache-disk", nullptr, "/freezepipe/cache-disk",
                                 "--cache-disk"};
/// A node that doesn't answer is given up after so long, seconds.
constexpr int kLostNodeToleration = 10;
constexpr char kThreadsVariable[] = "OMP_NUM_THREADS";
constexpr char kAddressVariable[] = "POD_IP";
constexpr char kNodeVariable[] = "NODE_NAME";
constexpr char kAuthorityVariable[] = "FREEZEPIPE_COORDINATOR_CA";
constexpr char kTokenVariable[] = "FREEZEPIPE_TOKEN_FILE";

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
  return containers[WorkerContainerIndex(containers)];
}

/// Without these a pod on a node that was lost stays bound to it for five minutes.
void TolerateLostNodesBriefly(Json& spec) {
  for (const char* taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    Json& tolerations = spec["tolerations"];
    const bool said = std::any_of(tolerations.begin(), tolerations.end(), [&](const Json& given) {
      return given.value("key", Json()) == taint;
    });
    if (said) continue;
    tolerations.push_back({{"key", taint},
                           {"operator", "Exists"},
                           {"effect", "NoExecute"},
                           {"tolerationSeconds", kLostNodeToleration}});
  }
}

void MountCheckpoints(const Json& job, Json& spec) {
  const Json claim = At(job, "/spec/checkpoint/claimName", "");
  if (claim == "") return;
  spec["volumes"].push_back(
      {{"name", kCheckpointVolume}, {"persistentVolumeClaim", {{"claimName", claim}}}});
  WorkerContainer(spec)["volumeMounts"].push_back(
      {{"name", kCheckpointVolume}, {"mountPath", kCheckpointMount}});
}

/// A volume of the pod's own for outputs of frozen layers, if the job wants them kept there. At a
/// place where no template mounts anything: what others share isn't for it.
void AddCacheVolume(const Json& limit, const CacheVolume& volume, Json& pod) {
  if (limit == "0") return;
  Json& spec = pod["spec"];
  Json source = Json::object();
  if (volume.medium != nullptr) source["medium"] = volume.medium;
  spec["volumes"].push_back({{"name", volume.name}, {"emptyDir", std::move(source)}});
  Json& container = WorkerContainer(spec);
  container["volumeMounts"].push_back({{"name", volume.name}, {"mountPath", volume.mount}});
  container["args"].push_back(volume.argument);
  container["args"].push_back(volume.mount);
  // What is in it can be computed again: no reason for an autoscaler to leave the node alone.
  Json& spared = pod["metadata"]["annotations"][kSafeToEvict];
  spared =
      spared.is_null() ? volume.name : absl::StrCat(spared.get<std::string>(), ",", volume.name);
}

void AddCacheVolumes(const Json& job, Json& pod) {
  if (At(job, "/spec/freeze/policy", "None") == "None") return;
  AddCacheVolume(At(job, "/spec/freeze/cache/memoryLimit", "0"), kMemoryCache, pod);
  AddCacheVolume(At(job, "/spec/freeze/cache/diskLimit", "0"), kDiskCache, pod);
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
  metadata["labels"][kRoleLabel] = kWorkerRole;
  return metadata;
}

/// What all workers' pods of the job have.
Json MakePod(const Json& job, const std::string& name, const PodOptions& options) {
  Json metadata = Metadata(job, name);
  Json spec = At(job, "/spec/worker/template/spec", Json::object());
  // A worker that ended is replaced by a new pod, whose attempt says so.
  spec["restartPolicy"] = "Never";
  Json& container = WorkerContainer(spec);
  SetIfSilent(container, "image", options.image);
  const int threads = At(job, "/spec/worker/threads", 1).get<int>();
  container["env"].push_back({{"name", kThreadsVariable}, {"value", absl::StrCat(threads)}});
  MountCheckpoints(job, spec);
  TolerateLostNodesBriefly(spec);
  Restrict(spec);
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)}};
}

Json TokenVolume(const std::string& audience) {
  const Json token = {
      {"audience", audience}, {"expirationSeconds", kTokenLifetime}, {"path", kTokenName}};
  return {{"name", kTokenVolume},
          {"projected", {{"sources", Json::array({{{"serviceAccountToken", token}}})}}}};
}

/// What the worker needs to know the coordinator by, and to be known by it.
void AddIdentity(Json& spec, const PodOptions& options) {
  Json& container = WorkerContainer(spec);
  if (!options.coordinator_ca.empty()) {
    container["env"].push_back({{"name", kAuthorityVariable}, {"value", options.coordinator_ca}});
  }
  if (options.token_audience.empty()) return;
  spec["volumes"].push_back(TokenVolume(options.token_audience));
  container["volumeMounts"].push_back(
      {{"name", kTokenVolume}, {"mountPath", kTokenFolder}, {"readOnly", true}});
  container["env"].push_back(
      {{"name", kTokenVariable}, {"value", absl::StrCat(kTokenFolder, "/", kTokenName)}});
}

int NumberLabel(const Json& pod, const char* label) {
  int number = -1;
  return absl::SimpleAtoi(kube::Label(pod, label), &number) ? number : -1;
}

}  // namespace

std::string JobId(const Json& job) {
  return absl::StrCat(kube::KeyText(kube::KeyOf(job)), "/", kube::Uid(job));
}

size_t WorkerContainerIndex(const Json& containers) {
  for (size_t i = 0; i < containers.size(); ++i) {
    if (containers[i].value("name", "") == kWorkerContainer) return i;
  }
  return 0;
}

bool IsOurVariable(const std::string& name) {
  static constexpr std::array<std::string_view, 5> kOurs = {
      kThreadsVariable, kAddressVariable, kNodeVariable, kAuthorityVariable, kTokenVariable};
  return std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end();
}

std::string JobFolder(const Json& job) {
  return absl::StrCat(kube::KeyOf(job).name, "-", kube::Uid(job));
}

Json MakeWorkerPod(const Json& job, int worker, int attempt, const PodOptions& options) {
  Json pod = MakePod(job,
                     absl::StrCat(kube::KeyOf(job).name, "-", worker, "-", attempt, "-",
                                  kube::Uid(job).substr(0, kUidCharacters)),
                     options);
  pod["metadata"]["labels"][kWorkerLabel] = absl::StrCat(worker);
  pod["metadata"]["labels"][kAttemptLabel] = absl::StrCat(attempt);
  Json& container = WorkerContainer(pod["spec"]);
  container["args"] = {"train", "--coordinator", options.coordinator, "--worker",
                       absl::StrCat(worker), "--job", JobId(job),
                       // Filled in by the kubelet.
                       "--host", "$(POD_IP)", "--node", "$(NODE_NAME)", "--device", "auto"};
  container["env"].push_back(FieldVariable(kAddressVariable, "status.podIP"));
  container["env"].push_back(FieldVariable(kNodeVariable, "spec.nodeName"));
  AddIdentity(pod["spec"], options);
  AddCacheVolumes(job, pod);
  return pod;
}

std::string JobIdOf(const Json& pod) {
  return absl::StrCat(kube::KeyOf(pod).ns, "/", kube::Label(pod, kJobLabel), "/",
                      kube::Label(pod, kJobUidLabel));
}

int WorkerOf(const Json& pod) { return NumberLabel(pod, kWorkerLabel); }
int AttemptOf(const Json& pod) { return NumberLabel(pod, kAttemptLabel); }

}  // namespace freezepipe::cluster
