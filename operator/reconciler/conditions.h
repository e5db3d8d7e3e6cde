#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string_view>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::reconciler {

inline constexpr char kSuspended[] = "Suspended";
inline constexpr char kRunning[] = "Running";
inline constexpr char kRepartitioning[] = "Repartitioning";
inline constexpr char kComplete[] = "Complete";
inline constexpr char kFailed[] = "Failed";

/// The job is over: Complete or Failed is True.
bool IsOver(const v1alpha1::FreezePipeJobStatus& status);

/// Whether a pod of the job may still run. Until none does, a job is neither Complete, Failed nor
/// Suspended, whatever its state.
enum class Pods { kMayRun, kEnded };

/// Sets all five conditions to what status.state and status.message amount to. A time moves only
/// with its condition's status. Once a job is over its conditions stay as they are.
void UpdateConditions(Pods pods, int observed_generation, const google::protobuf::Timestamp& now,
                      v1alpha1::FreezePipeJobStatus* status);

/// "RecordError: disk full" is reason RecordError, message "disk full"; a message without such a
/// word in front has reason `otherwise`.
struct Explanation {
  std::string_view reason;
  std::string_view message;
};
Explanation Explain(std::string_view message, std::string_view otherwise);

}  // namespace freezepipe::reconciler
