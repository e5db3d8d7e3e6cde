#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "cmd/freezepipe/output_directory.h"
#include "cmd/freezepipe/worker_program.h"
#include "freezepipe/v1alpha1/report.pb.h"
#include "operator/coordinator/job_session.h"

namespace freezepipe::cli {

/// Where an earlier run in the same folder left off.
struct ResumePoint {
  /// It came to its end and left everything that a run leaves: nothing is left to do.
  bool complete = false;
  /// What is wrong with each checkpoint that is newer than the one below, naming a file.
  std::vector<std::string> damaged;
  /// Step 0 where the run ended before its first checkpoint: it starts over.
  coordinator::JobSetup::Resume checkpoint;
  /// Everything that happened until then.
  std::vector<v1alpha1::JobEvent> events;
};

/// The newest sound checkpoint of the folder. The error says why the job can't go on from there:
/// every checkpoint is damaged, or the manifest would make it another job.
absl::StatusOr<ResumePoint> FindResumePoint(const OutputDirectory& output,
                                            const v1alpha1::FreezePipeJobSpec& spec,
                                            const WorkerProgram& worker);

}  // namespace freezepipe::cli
