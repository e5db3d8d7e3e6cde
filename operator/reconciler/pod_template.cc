#include "operator/reconciler/pod_template.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include "operator/cluster/kubernetes/job_pod.h"

namespace freezepipe::reconciler {
namespace {

using kube::Json;

constexpr char kRoot[] = "spec.worker.template";
constexpr char kOurPrefix[] = "freezepipe.io/";

class Check {
 public:
  std::vector<std::string> Run(const Json& pod_template) {
    if (!Is(pod_template, "", Json::value_t::object)) return faults_;
    if (pod_template.contains("metadata")) Metadata(pod_template["metadata"]);
    if (pod_template.contains("spec")) Spec(pod_template["spec"]);
    return faults_;
  }

 private:
  void Fault(const std::string& path, const std::string& what) {
    faults_.push_back(absl::StrCat(kRoot, path, ": ", what));
  }

  void Ours(const Json& object, const std::string& path, const char* field, const char* why) {
    if (object.contains(field)) Fault(absl::StrCat(path, ".", field), why);
  }

  bool Is(const Json& value, const std::string& path, Json::value_t type) {
    if (value.type() == type) return true;
    const char* wanted = type == Json::value_t::array    ? "a list"
                         : type == Json::value_t::object ? "an object"
                                                         : "a string";
    Fault(path, absl::StrCat("must be ", wanted, ", not ", kube::JsonText(value)));
    return false;
  }

  void Metadata(const Json& metadata) {
    const std::string path = ".metadata";
    if (!Is(metadata, path, Json::value_t::object)) return;
    Ours(metadata, path, "name", "FreezePipe names its pods: leave it out");
    Ours(metadata, path, "generateName", "FreezePipe names its pods: leave it out");
    Ours(metadata, path, "namespace", "pods are in the job's namespace: leave it out");
    Ours(metadata, path, "ownerReferences", "the job owns its pods: leave it out");
    for (const char* field : {"labels", "annotations"}) {
      if (!metadata.contains(field)) continue;
      const std::string inner = absl::StrCat(path, ".", field);
      if (!Is(metadata[field], inner, Json::value_t::object)) continue;
      for (const auto& [name, value] : metadata[field].items()) {
        if (absl::StartsWith(name, kOurPrefix)) {
          Fault(absl::StrCat(inner, "[", name, "]"),
                "FreezePipe sets what begins with freezepipe.io/");
        }
      }
    }
  }

  void Spec(const Json& spec) {
    const std::string path = ".spec";
    if (!Is(spec, path, Json::value_t::object)) return;
    Ours(spec, path, "restartPolicy",
         "FreezePipe starts a new pod for a worker that ended: leave it out");
    if (spec.contains("securityContext")) {
      Is(spec["securityContext"], path + ".securityContext", Json::value_t::object);
    }
    for (const char* list : {"volumes", "initContainers", "tolerations"}) {
      if (spec.contains(list)) List(spec[list], absl::StrCat(path, ".", list));
    }
    if (!spec.contains("containers")) return;
    const std::string containers = path + ".containers";
    if (!List(spec["containers"], containers)) return;
    for (size_t i = 0; i < spec["containers"].size(); ++i) {
      Container(spec["containers"][i], absl::StrCat(containers, "[", i, "]"),
                i == cluster::WorkerContainerIndex(spec["containers"]));
    }
  }

  /// A list of objects; their names, where they have one, are strings.
  bool List(const Json& list, const std::string& path) {
    if (!Is(list, path, Json::value_t::array)) return false;
    bool all = true;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string item = absl::StrCat(path, "[", i, "]");
      all = Is(list[i], item, Json::value_t::object) &&
            (!list[i].contains("name") ||
             Is(list[i]["name"], item + ".name", Json::value_t::string)) &&
            all;
    }
    return all;
  }

  void Container(const Json& container, const std::string& path, bool is_worker) {
    if (container.contains("securityContext")) {
      Is(container["securityContext"], path + ".securityContext", Json::value_t::object);
    }
    if (container.contains("resources")) {
      Is(container["resources"], path + ".resources", Json::value_t::object);
    }
    if (!is_worker) return;
    Ours(container, path, "args", "FreezePipe starts the worker: leave it out");
    Ours(container, path, "command", "FreezePipe starts the worker: leave it out");
    if (container.contains("volumeMounts")) {
      List(container["volumeMounts"], path + ".volumeMounts");
    }
    if (!container.contains("env") || !List(container["env"], path + ".env")) return;
    for (size_t i = 0; i < container["env"].size(); ++i) {
      const std::string name = container["env"][i].value("name", "");
      if (cluster::IsOurVariable(name)) {
        Fault(absl::StrCat(path, ".env[", i, "]"),
              absl::StrCat("FreezePipe sets ", name, ": leave it out"));
      }
    }
  }

  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> FaultsOfTemplate(const Json& job) {
  return Check().Run(job.value(Json::json_pointer("/spec/worker/template"), Json(Json::object())));
}

}  // namespace freezepipe::reconciler
