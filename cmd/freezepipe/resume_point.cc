#include "cmd/freezepipe/resume_point.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cmd/freezepipe/event_log.h"
#include "cmd/freezepipe/spec_difference.h"
#include "files/checkpoint_layout.h"
#include "operator/coordinator/window_record.h"
#include "operator/manifest/manifest.h"
#include "operator/report/json.h"

namespace freezepipe::cli {
namespace {

namespace fs = std::filesystem;

bool IsComplete(const OutputDirectory& output) {
  std::error_code error;
  if (!fs::exists(output.summary(), error) || !fs::exists(output.weights(), error)) return false;
  std::ifstream file(output.status());
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  v1alpha1::FreezePipeJobStatus status;
  return report::FromJson(json, &status).ok() && status.state() == v1alpha1::JobState::Succeeded;
}

coordinator::JobSetup::Resume MakeResume(const v1alpha1::CheckpointIndex& index) {
  coordinator::JobSetup::Resume resume;
  resume.step = index.step();
  resume.freeze_log.assign(index.freeze_log().begin(), index.freeze_log().end());
  for (const auto& record : index.windows()) {
    resume.windows.push_back(coordinator::FromRecord(record));
  }
  return resume;
}

/// Fills in the newest sound checkpoint; none where there is no checkpoint at all.
absl::Status FindCheckpoint(const OutputDirectory& output, const WorkerProgram& worker,
                            ResumePoint* point) {
  const auto folders = files::FindCheckpoints(output.checkpoints());
  for (auto folder = folders.begin(); folder != folders.end(); ++folder) {
    const auto index = files::ReadCheckpointIndex(folder->path);
    if (!index.ok()) {
      point->damaged.emplace_back(index.status().message());
      continue;
    }
    auto damage = worker.Check(folder->path);
    if (!damage.ok()) return damage.status();
    if (!damage->empty()) {
      point->damaged.push_back(*std::move(damage));
      continue;
    }
    point->checkpoint = MakeResume(*index);
    std::for_each(
        std::make_reverse_iterator(folders.end()), std::make_reverse_iterator(folder + 1),
        [&](const auto& older) { point->checkpoint.older_checkpoints.push_back(older.step); });
    return absl::OkStatus();
  }
  if (folders.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("cannot resume the run in ", output.path(),
                   ": every checkpoint is damaged: ", absl::StrJoin(point->damaged, "; ")));
}

}  // namespace

absl::StatusOr<ResumePoint> FindResumePoint(const OutputDirectory& output,
                                            const v1alpha1::FreezePipeJobSpec& spec,
                                            const WorkerProgram& worker) {
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
  ResumePoint point;
  point.complete = IsComplete(output);
  if (point.complete) return point;
  const absl::Status found = FindCheckpoint(output, worker, &point);
  if (!found.ok()) return found;
  std::error_code error;
  if (fs::exists(output.events(), error)) {
    auto events = RecoverEvents(output.events());
    if (!events.ok()) return events.status();
    point.events = *std::move(events);
  }
  return point;
}

}  // namespace freezepipe::cli
