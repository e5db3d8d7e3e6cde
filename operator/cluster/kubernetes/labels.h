#pragma once

namespace freezepipe::cluster {

// What marks the pods of a job. Selected by uid: another job may come under the same name.
inline constexpr char kJobLabel[] = "freezepipe.io/job";
inline constexpr char kJobUidLabel[] = "freezepipe.io/job-uid";
inline constexpr char kRoleLabel[] = "freezepipe.io/role";
inline constexpr char kWorkerRole[] = "worker";
/// The worker's number.
inline constexpr char kWorkerLabel[] = "freezepipe.io/worker";
/// How often the worker had a pod before.
inline constexpr char kAttemptLabel[] = "freezepipe.io/attempt";

}  // namespace freezepipe::cluster
