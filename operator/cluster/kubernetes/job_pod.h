#pragma once

#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "operator/kube/resource.h"

namespace freezepipe::cluster {

inline constexpr kube::Resource kPods{"", "v1", "pods"};

/// Of the worker's container in the template; without one of this name the first container is it.
inline constexpr char kWorkerContainer[] = "worker";

struct PodOptions {
  /// Where workers find the coordinator, HOST:PORT.
  std::string coordinator;
  /// Of the worker's container where the template names none.
  std::string image;
  /// PEM of the authority that the coordinator's certificate is verified by; empty: no TLS.
  std::string coordinator_ca{};
  /// Whom the worker's token is meant for; empty: it has none.
  std::string token_audience{};
};

/// What the coordinator and its workers call a job: "NAMESPACE/NAME/UID".
std::string JobId(const kube::Json& job);

/// Of the job's files on a volume that others may use too: "NAME-UID".
std::string JobFolder(const kube::Json& job);

/// The pod of a worker, from the job as the API server has it (defaults applied): its template
/// untouched, with what is ours on top, and the restricted security profile where it is silent.
kube::Json MakeWorkerPod(const kube::Json& job, int worker, int attempt, const PodOptions& options);

/// Where a worker finds the volume of checkpoint.claimName, in all its pods alike.
inline constexpr char kCheckpointMount[] = "/freezepipe/checkpoints";

/// Which of a template's containers is the worker's.
size_t WorkerContainerIndex(const kube::Json& containers);

/// An environment variable that a worker's container gets from here.
bool IsOurVariable(const std::string& name);

/// Of a pod that one of these made: the JobId of its job.
std::string JobIdOf(const kube::Json& pod);

/// Worker and attempt of a pod that MakeWorkerPod made, by its labels; -1 if it lacks them.
int WorkerOf(const kube::Json& pod);
int AttemptOf(const kube::Json& pod);

}  // namespace freezepipe::cluster
