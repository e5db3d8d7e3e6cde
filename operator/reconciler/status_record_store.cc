#include "operator/reconciler/status_record_store.h"

#include <absl/strings/str_cat.h>

#include <stdexcept>
#include <utility>

#include "operator/kube/api_error.h"
#include "operator/reconciler/job_status.h"

namespace freezepipe::reconciler {
namespace {

/// Another try can't succeed.
bool IsFinal(const absl::Status& error) {
  return absl::IsNotFound(error) || absl::IsFailedPrecondition(error) || absl::IsCancelled(error) ||
         kube::IsInvalid(error);
}

}  // namespace

StatusRecordStore::StatusRecordStore(kube::Client& client, kube::ObjectKey job, std::string uid,
                                     int term, Clock clock)
    : client_(client),
      job_(std::move(job)),
      uid_(std::move(uid)),
      term_(term),
      clock_(std::move(clock)) {}

void StatusRecordStore::Write(const v1alpha1::FreezePipeJobStatus& status) {
  kube::Backoff backoff(kube::SystemRandom());
  while (true) {
    const absl::Status written = TryWrite(status);
    if (written.ok()) return;
    if (IsFinal(written)) throw std::runtime_error(std::string(written.message()));
    // Somebody else changed the job: read it anew, at once.
    if (kube::IsConflict(written)) continue;
    // The client's stop ends the next try.
    kube::SleepFor(backoff.Next(kube::SteadyClock::now()), {});
  }
}

absl::Status StatusRecordStore::TryWrite(const v1alpha1::FreezePipeJobStatus& status) {
  const auto job = client_.Get(kJobs, job_);
  if (!job.ok()) return job.status();
  if (kube::Uid(*job) != uid_) {
    return absl::NotFoundError(absl::StrCat("job ", kube::KeyText(job_), " was deleted"));
  }
  const auto before = ReadStatus(*job);
  if (!before.ok()) return absl::FailedPreconditionError(before.status().message());
  if (before->term() > term_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "deposed: term ", before->term(), " has written the status, this is term ", term_));
  }
  const int generation = job->value(kube::Json::json_pointer("/metadata/generation"), 0);
  const auto complete = CompleteStatus(status, *before, term_, generation, clock_());
  return client_.PatchStatus(kJobs, job_, StatusPatch(*job, complete)).status();
}

}  // namespace freezepipe::reconciler
