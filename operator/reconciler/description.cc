#include "operator/reconciler/description.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include <string>

#include "operator/cluster/kubernetes/job_pod.h"
#include "operator/cluster/kubernetes/pod_end.h"
#include "operator/report/json.h"

namespace freezepipe::reconciler {
namespace {

/// Of 1,000 layers it has about 100 kB.
constexpr int kMostLogBytes = 4 << 20;

std::string LastLine(const std::string& text) {
  const std::string trimmed(absl::StripTrailingAsciiWhitespace(text));
  return trimmed.substr(trimmed.rfind('\n') + 1);
}

}  // namespace

absl::StatusOr<std::optional<v1alpha1::JobDescription>> ReadDescription(kube::Client& client,
                                                                        const kube::Json& pod) {
  const auto end = cluster::EndOf(pod);
  if (!end) return std::nullopt;
  const auto log = client.Log(kube::KeyOf(pod), cluster::WorkerContainerName(pod), kMostLogBytes);
  if (!log.ok()) return log.status();
  const std::string name = kube::KeyOf(pod).name;
  if (!end->clean) {
    return absl::FailedPreconditionError(
        absl::StrCat("pod ", name, " ", end->why, "; last log line: ", LastLine(*log)));
  }
  v1alpha1::JobDescription description;
  const absl::Status read = report::FromJson(LastLine(*log), &description);
  if (!read.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("pod ", name, ": its answer is not understood: ", read.message()));
  }
  return description;
}

}  // namespace freezepipe::reconciler
