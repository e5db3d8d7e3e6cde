#include "operator/reconciler/reconciler.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <utility>

#include "operator/cluster/kubernetes/labels.h"
#include "operator/cluster/kubernetes/pod_end.h"
#include "operator/kube/api_error.h"
#include "operator/reconciler/backoff_limit.h"
#include "operator/reconciler/clean_pods.h"
#include "operator/reconciler/deadlines.h"
#include "operator/reconciler/job_events.h"
#include "operator/reconciler/job_pods.h"
#include "operator/reconciler/job_status.h"
#include "operator/reconciler/observation.h"
#include "operator/reconciler/pod_template.h"
#include "operator/reconciler/time_to_live.h"
#include "operator/report/json.h"
#include "proto/defaults.h"

namespace freezepipe::reconciler {
namespace {

using kube::Json;
using v1alpha1::FreezePipeJobStatus;
using v1alpha1::JobState;
using Pointer = Json::json_pointer;

/// runPolicy.managedBy of the jobs that are this operator's.
constexpr char kManager[] = "freezepipe.io/operator";

/// Why a job fails that can't begin as it is.
constexpr char kInvalidSpec[] = "InvalidSpec: ";

/// While a job's record is being written.
constexpr std::chrono::milliseconds kRecordPeriod{100};

bool IsOurs(const Json& job) {
  const std::string manager = kube::TextAt(job, Pointer("/spec/runPolicy/managedBy"));
  return manager.empty() || manager == kManager;
}

absl::Status ReadSpec(const Json& job, v1alpha1::FreezePipeJobSpec* spec) {
  const absl::Status read =
      report::FromJson(kube::JsonText(job.value("spec", Json::object())), spec);
  // The API server has filled in those that its schema, perhaps an older one, knows.
  if (read.ok()) ApplyDefaults(spec);
  return read;
}

bool IsStatusAlone(const kube::Change& change) {
  return change.kind == kube::Change::Kind::kUpdated &&
         change.before->value("spec", Json()) == change.object->value("spec", Json()) &&
         kube::IsBeingDeleted(*change.before) == kube::IsBeingDeleted(*change.object);
}

/// The earlier of two times to look again.
std::optional<kube::Duration> Earlier(std::optional<kube::Duration> a,
                                      std::optional<kube::Duration> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// A suspended job goes on, and its state ended with its workers.
bool StartsOver(const Snapshot& snapshot) {
  return snapshot.status.step() > 0 && snapshot.spec.checkpoint().claim_name().empty();
}

/// How long until a pod that is being deleted counts as lost with its node.
std::optional<kube::Duration> UntilPodsAreGone(const Snapshot& snapshot) {
  std::optional<kube::Duration> until;
  for (const auto& pod : Living(snapshot.pods, snapshot.now)) {
    const auto due = cluster::DueToBeGone(*pod);
    if (due) until = Earlier(until, *due - snapshot.now + std::chrono::seconds(1));
  }
  return until;
}

}  // namespace

std::map<std::string, kube::Cache::Index> PodIndexes() {
  using Values = std::vector<std::string>;
  return {{kPodsByJob, [](const Json& pod) { return Values{kube::ControllerUid(pod)}; }},
          {kPodsByUid, [](const Json& pod) { return Values{kube::Uid(pod)}; }}};
}

Reconciler::Reconciler(const Surroundings& surroundings, const kube::Cache& jobs,
                       const kube::Cache& pods, Clock clock)
    : surroundings_(surroundings), jobs_(jobs), pods_(pods), clock_(std::move(clock)) {}

Reconciler::Answer Reconciler::Reconcile(const kube::ObjectKey& key) {
  const kube::Object job = jobs_.Get(key);
  // Of a deleted job nothing runs on, and its pods go with it: they are its dependents.
  const bool gone = !job || kube::IsBeingDeleted(*job);
  runs_.DropFormer(key, gone ? "" : kube::Uid(*job));
  if (gone || !IsOurs(*job)) return std::nullopt;
  return ReconcileJob(job);
}

Reconciler::Answer Reconciler::ReconcileJob(const kube::Object& job) {
  Snapshot snapshot{.job = job,
                    .spec = {},
                    .status = {},
                    .pods = pods_.Find(kPodsByJob, kube::Uid(*job)),
                    .now = clock_()};
  const auto status = ReadStatus(*job);
  if (!status.ok()) return status.status();
  snapshot.status = *status;
  const absl::Status read = ReadSpec(*job, &snapshot.spec);
  if (!read.ok()) return Fail(snapshot, absl::StrCat(kInvalidSpec, read.message()));

  if (const auto run = runs_.Find(kube::Uid(*job))) return Continue(*run, std::move(snapshot));
  const JobState::Type state = snapshot.status.state();
  if (state == JobState::Succeeded || state == JobState::Failed) return Finish(snapshot);
  const auto newest = IsNewest(*job);
  if (!newest.ok()) return newest.status();
  if (!*newest) return std::nullopt;
  // Workers that another leader's run left training stop in good order first.
  const bool stands_still = state == JobState::Stopped || state == JobState::Suspended ||
                            Living(snapshot.pods, snapshot.now).empty();
  if (snapshot.spec.run_policy().suspend() && stands_still) return Suspend(snapshot);
  return Begin(std::move(snapshot));
}

void Reconciler::StartOver(Snapshot* snapshot) {
  surroundings_.events->Record(
      *snapshot->job,
      {kube::EventText::Type::kWarning, "StartedOver", "Restore",
       absl::StrCat("training begins at step 0 again: without spec.checkpoint.claimName the state "
                    "of step ",
                    snapshot->status.step(), " ended with the workers")});
  snapshot->status.clear_accuracy();
  snapshot->status.clear_loss();
}

absl::StatusOr<bool> Reconciler::IsNewest(const Json& job) {
  const auto newest = surroundings_.client->Get(kJobs, kube::KeyOf(job));
  if (absl::IsNotFound(newest.status())) return false;
  if (!newest.ok()) return newest.status();
  return kube::ResourceVersion(*newest) == kube::ResourceVersion(job);
}

Reconciler::Answer Reconciler::Begin(Snapshot snapshot) {
  const auto pod_faults = FaultsOfPods(snapshot);
  if (!pod_faults.ok()) return Wait(snapshot, pod_faults.status());
  if (!pod_faults->empty()) return Fail(snapshot, absl::StrCat(kInvalidSpec, *pod_faults));

  if (!snapshot.status.has_generation() || snapshot.status.state() == JobState::Suspended) {
    const absl::Status said = SetState(snapshot, JobState::Starting, "");
    if (!said.ok()) return said;
    if (StartsOver(snapshot)) StartOver(&snapshot);
  }
  const std::string uid = kube::Uid(*snapshot.job);
  const auto run = std::make_shared<JobRun>(surroundings_, snapshot);
  runs_.Add(uid, run);
  // Nobody was told of what happened to its pods since the snapshot.
  run->OnPods(snapshot.pods, pods_.Find(kPodsByJob, uid));
  // By then the cache has the start time just written, from which deadlines count.
  return std::chrono::seconds(1);
}

Reconciler::Answer Reconciler::Continue(JobRun& run, Snapshot snapshot) {
  const bool over = run.over();
  run.OnJobChange(snapshot.job);
  snapshot.status = CarryOn(run.status(), snapshot.status);
  run.EndLost(snapshot);
  if (!over) {
    if (snapshot.spec.run_policy().suspend()) {
      run.Stop();
    } else if (const auto missed = MissedDeadline(snapshot)) {
      run.GiveUp(*missed);
    } else if (const auto exceeded = ExceededBackoff(snapshot)) {
      run.GiveUp(*exceeded);
    }
  }
  const Pods pods = over ? PodsOf(snapshot) : Pods::kMayRun;
  const absl::Status reported = run.Report(snapshot, pods);
  if (IsRecordUnderWay(reported)) return kRecordPeriod;
  if (!reported.ok()) return reported;
  if (!over) {
    return Earlier(Earlier(UntilDeadline(snapshot), UntilPodsAreGone(snapshot)), run.UntilReport());
  }

  runs_.Drop(kube::Uid(*snapshot.job));
  // What is left to do is done for a job without a run.
  return kube::Duration::zero();
}

Reconciler::Answer Reconciler::Suspend(const Snapshot& snapshot) {
  const absl::Status said = SetState(snapshot, JobState::Suspended, "");
  if (!said.ok()) return said;
  const absl::Status cleaned = Clean(snapshot);
  if (!cleaned.ok()) return cleaned;
  return UntilPodsAreGone(snapshot);
}

Reconciler::Answer Reconciler::Finish(const Snapshot& snapshot) {
  if (const auto left = TimeToLive(snapshot); left && *left <= kube::Duration::zero()) {
    const absl::Status deleted = surroundings_.client->Delete(kJobs, kube::KeyOf(*snapshot.job),
                                                              {.uid = kube::Uid(*snapshot.job)});
    if (absl::IsNotFound(deleted)) return std::nullopt;
    return deleted.ok() ? Answer(std::nullopt) : Answer(deleted);
  }
  const absl::Status cleaned = Clean(snapshot);
  if (!cleaned.ok()) return cleaned;
  const absl::Status said = SetState(snapshot, snapshot.status.state(), snapshot.status.message());
  if (!said.ok()) return said;
  return Earlier(TimeToLive(snapshot), UntilPodsAreGone(snapshot));
}

absl::StatusOr<std::string> Reconciler::FaultsOfPods(const Snapshot& snapshot) {
  const auto faults = FaultsOfTemplate(*snapshot.job);
  if (!faults.empty()) return absl::StrJoin(faults, "; ");
  if (!snapshot.pods.empty()) return "";
  const auto tried = surroundings_.client->Create(
      cluster::kPods, cluster::MakeWorkerPod(*snapshot.job, 0, 0, surroundings_.pods),
      {.dry_run = true});
  if (kube::IsInvalid(tried.status())) {
    return absl::StrCat("spec.worker.template, as a pod: ", std::string(tried.status().message()));
  }
  if (absl::IsAlreadyExists(tried.status())) return "";
  if (!tried.ok()) return tried.status();
  return "";
}

Reconciler::Answer Reconciler::Wait(const Snapshot& snapshot, const absl::Status& why) {
  if (const auto missed = MissedDeadline(snapshot)) {
    return Fail(snapshot, absl::StrCat(*missed, "; ", std::string(why.message())));
  }
  if (const auto left = UntilDeadline(snapshot)) {
    surroundings_.look_at(kube::KeyOf(*snapshot.job), *left);
  }
  // A quota or a policy of the namespace may give way; nothing is known of an API server that is
  // away.
  const std::string reason = kube::Reason(why);
  if (!reason.empty()) {
    surroundings_.events->Record(*snapshot.job, PodRefused(0, why));
    const absl::Status said = SetState(snapshot, JobState::Pending,
                                       absl::StrCat(reason, ": ", std::string(why.message())));
    if (!said.ok()) return said;
  }
  return why;
}

Reconciler::Answer Reconciler::Fail(const Snapshot& snapshot, const std::string& why) {
  const absl::Status said = SetState(snapshot, JobState::Failed, why);
  if (!said.ok()) return said;
  surroundings_.events->Record(*snapshot.job, WarningOf(why, "Failed", "Start"));
  return std::nullopt;
}

absl::Status Reconciler::SetState(const Snapshot& snapshot, JobState::Type state,
                                  const std::string& message) {
  StatusStore store(*surroundings_.client, kube::KeyOf(*snapshot.job), kube::Uid(*snapshot.job),
                    surroundings_.term, clock_);
  return store.Update(*snapshot.job, PodsOf(snapshot), [&](FreezePipeJobStatus* status) {
    // Deadlines count anew when it goes on. Not for a session to say: one that begins with the
    // record of a suspended job says so until it has started.
    if (state == JobState::Suspended) status->clear_start_time();
    // Nothing trains without a session.
    status->clear_seconds_left();
    status->set_state(state);
    status->set_message(message);
    Observe(snapshot, status);
  });
}

absl::Status Reconciler::Clean(const Snapshot& snapshot) {
  for (const auto& pod : PodsToClean(snapshot)) {
    const absl::Status deleted =
        surroundings_.client->Delete(cluster::kPods, kube::KeyOf(*pod), {.uid = kube::Uid(*pod)});
    if (!deleted.ok() && !absl::IsNotFound(deleted)) return deleted;
  }
  return absl::OkStatus();
}

Pods Reconciler::PodsOf(const Snapshot& snapshot) const {
  return Living(snapshot.pods, snapshot.now).empty() ? Pods::kEnded : Pods::kMayRun;
}

void Reconciler::OnPodChange(const kube::Change& change) {
  const Json& pod = *change.object;
  if (const auto run = runs_.Find(kube::ControllerUid(pod))) run->OnPodChange(change);
  const std::string job = kube::Label(pod, cluster::kJobLabel);
  if (!job.empty()) {
    surroundings_.look_at({.ns = kube::KeyOf(pod).ns, .name = job}, kube::Duration::zero());
  }
}

void Reconciler::OnJobChange(const kube::Change& change) {
  // What a running job's status says was written here: to look again would be to write again, as
  // fast as the API server lets us.
  if (IsStatusAlone(change) && runs_.Find(kube::Uid(*change.object))) return;
  surroundings_.look_at(kube::KeyOf(*change.object), kube::Duration::zero());
}

}  // namespace freezepipe::reconciler
