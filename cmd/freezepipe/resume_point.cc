#include "cmd/freezepipe/resume_point.h"

#include <absl/strings/str_cat.h>

#include <filesystem>

#include "cmd/freezepipe/event_log.h"
#include "cmd/freezepipe/spec_difference.h"
#include "operator/coordinator/checkpoint_index.h"
#include "operator/manifest/manifest.h"

namespace freezepipe::cli {

absl::StatusOr<ResumePoint> FindResumePoint(const OutputDirectory& output,
                                            const v1alpha1::FreezePipeJobSpec& spec) {
  const Manifest before = ReadManifest(output.manifest());
  if (!before.faults.empty()) {
    return absl::DataLossError(
        absl::StrCat("cannot resume: ", output.manifest(), ": ", ToString(before.faults[0])));
  }
  if (const auto difference = WhyNotResumable(before.job.spec(), spec)) {
    return absl::FailedPreconditionError(absl::StrCat("cannot resume the run in ", output.path(),
                                                      ": ", *difference,
                                                      "; give another --output to start anew"));
  }
  const auto index = coordinator::ReadNewestCheckpoint(output.checkpoints());
  if (!index.ok() && !absl::IsNotFound(index.status())) {
    return absl::NotFoundError(
        absl::StrCat("cannot resume the run in ", output.path(), ": ", index.status().message()));
  }
  ResumePoint point;
  if (index.ok()) point.checkpoint = coordinator::MakeResume(*index);
  std::error_code error;
  if (std::filesystem::exists(output.events(), error)) {
    auto events = RecoverEvents(output.events());
    if (!events.ok()) return events.status();
    point.events = *std::move(events);
  }
  return point;
}

}  // namespace freezepipe::cli
