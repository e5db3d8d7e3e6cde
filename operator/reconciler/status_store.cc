#include "operator/reconciler/status_store.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/util/message_differencer.h>

#include <stdexcept>
#include <utility>

#include "operator/kube/api_error.h"
#include "operator/kube/backoff.h"
#include "operator/reconciler/job_status.h"

namespace freezepipe::reconciler {
namespace {

using google::protobuf::util::MessageDifferencer;
using v1alpha1::FreezePipeJobStatus;

/// Another try can't succeed.
bool IsFinal(const absl::Status& error) {
  return absl::IsNotFound(error) || absl::IsFailedPrecondition(error) || kube::IsInvalid(error);
}

absl::Status RecordUnderWay() {
  return absl::UnavailableError("the job's record is being written");
}

}  // namespace

bool IsRecordUnderWay(const absl::Status& status) { return status == RecordUnderWay(); }

StatusStore::StatusStore(kube::Client& client, kube::ObjectKey job, std::string uid, int term,
                         Clock clock)
    : client_(client),
      job_(std::move(job)),
      uid_(std::move(uid)),
      term_(term),
      clock_(std::move(clock)) {}

void StatusStore::Write(const FreezePipeJobStatus& status) {
  std::lock_guard lock(writing_);
  kube::Backoff backoff(kube::SystemRandom());
  while (true) {
    const absl::Status written = ReadAndUpdate(
        Pods::kMayRun, [&](FreezePipeJobStatus* before) { *before = CarryOn(status, *before); });
    if (written.ok()) return;
    if (absl::IsCancelled(written)) throw coordinator::Deposed(std::string(written.message()));
    if (IsFinal(written)) throw std::runtime_error(std::string(written.message()));
    // Somebody else changed the job: read it anew, at once.
    if (kube::IsConflict(written)) continue;
    // The client's stop ends the next try.
    kube::SleepFor(backoff.Next(kube::SteadyClock::now()), {});
  }
}

absl::Status StatusStore::Update(const kube::Json& known, Pods pods, Change change) {
  // Not to be held up by a record that waits for the API server.
  const std::unique_lock lock(writing_, std::try_to_lock);
  if (!lock) return RecordUnderWay();
  absl::Status written = TryUpdate(known, pods, change);
  while (kube::IsConflict(written)) written = ReadAndUpdate(pods, change);
  return written;
}

absl::Status StatusStore::ReadAndUpdate(Pods pods, Change change) {
  const auto job = client_.Get(kJobs, job_);
  if (!job.ok()) return job.status();
  return TryUpdate(*job, pods, change);
}

absl::Status StatusStore::TryUpdate(const kube::Json& job, Pods pods, Change change) {
  if (kube::Uid(job) != uid_) {
    return absl::NotFoundError(absl::StrCat("job ", kube::KeyText(job_), " was deleted"));
  }
  const auto before = ReadStatus(job);
  if (!before.ok()) return absl::FailedPreconditionError(before.status().message());
  if (before->term() > term_) {
    return absl::CancelledError(absl::StrCat("deposed: term ", before->term(),
                                             " has written the status, this is term ", term_));
  }
  FreezePipeJobStatus status = *before;
  change(&status);
  const int generation = job.value(kube::Json::json_pointer("/metadata/generation"), 0);
  CompleteStatus(pods, term_, generation, clock_(), &status);
  if (MessageDifferencer::Equals(status, *before)) return absl::OkStatus();
  return client_.PatchStatus(kJobs, job_, StatusPatch(job, status)).status();
}

}  // namespace freezepipe::reconciler
