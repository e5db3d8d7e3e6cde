#include "operator/reconciler/job_run.h"

#include <absl/strings/str_cat.h>

#include <chrono>
#include <set>
#include <utility>

#include "operator/kube/api_error.h"
#include "operator/reconciler/job_events.h"
#include "operator/reconciler/job_pods.h"
#include "operator/reconciler/job_status.h"
#include "operator/reconciler/observation.h"

namespace freezepipe::reconciler {
namespace {

using coordinator::JobSetup;
using v1alpha1::JobEvent;

/// Progress alone is written no more often than this.
constexpr std::chrono::seconds kProgressPeriod{5};
/// So are the seconds of devices that are held while nothing happens.
constexpr std::chrono::seconds kDeviceTimePeriod{30};

/// What the spec amounts to the workers say.
JobSetup Setup(const Surroundings& surroundings, const Snapshot& snapshot) {
  JobSetup setup;
  setup.spec = snapshot.spec;
  setup.term = surroundings.term;
  setup.record = snapshot.status;
  if (!snapshot.spec.checkpoint().claim_name().empty()) {
    setup.checkpoint_directory =
        absl::StrCat(cluster::kCheckpointMount, "/", cluster::JobFolder(*snapshot.job));
    setup.export_weights = true;
  }
  return setup;
}

bool IsProgressAlone(const JobEvent& event) {
  return event.kind_case() == JobEvent::kProgress || event.kind_case() == JobEvent::kStageTimes ||
         event.kind_case() == JobEvent::kWindowDone;
}

}  // namespace

JobRun::JobRun(const Surroundings& surroundings, const Snapshot& snapshot)
    : surroundings_(surroundings),
      job_(snapshot.job),
      store_(*surroundings.client, kube::KeyOf(*snapshot.job), kube::Uid(*snapshot.job),
             surroundings.term),
      cluster_(
          *surroundings.client, snapshot.job, surroundings.pods, snapshot.pods,
          [this](int worker, cluster::WorkerEnd end) {
            session_->OnWorkerExit(worker, std::move(end));
          },
          [this](int worker, const absl::Status& error) { OnPodError(worker, error); }),
      session_(surroundings.coordinator->AddJob(
          cluster::JobId(*snapshot.job), Setup(surroundings, snapshot),
          {.cluster = &cluster_, .records = &store_, .listener = this})) {
  session_->Start();
}

JobRun::~JobRun() {
  // Its thread tells the session.
  cluster_.Stop();
  session_.reset();
}

void JobRun::OnPods(const std::vector<kube::Object>& before, const std::vector<kube::Object>& now) {
  std::set<std::string> there;
  for (const auto& pod : now) {
    there.insert(kube::Uid(*pod));
    OnPodChange({.kind = kube::Change::Kind::kUpdated, .before = nullptr, .object = pod});
  }
  for (const auto& pod : before) {
    if (there.contains(kube::Uid(*pod))) continue;
    OnPodChange({.kind = kube::Change::Kind::kDeleted, .before = pod, .object = pod});
  }
}

void JobRun::Stop() {
  // The session takes a second request for impatience.
  if (!stopping_.exchange(true)) session_->Post(coordinator::StopRequested{});
}

void JobRun::GiveUp(const std::string& why) {
  if (!stopping_.exchange(true)) session_->Post(coordinator::GiveUp{why});
}

absl::Status JobRun::Report(const Snapshot& snapshot, Pods pods) {
  device_time_.Look(snapshot);
  const absl::Status written =
      store_.Update(*snapshot.job, pods, [&](v1alpha1::FreezePipeJobStatus* status) {
        *status = CarryOn(session_->Status(), *status);
        Observe(snapshot, status);
        device_time_.AddTo(status);
      });
  if (!written.ok()) return written;
  device_time_.Written();
  SayWhatItWaitsFor(snapshot);
  return written;
}

void JobRun::SayWhatItWaitsFor(const Snapshot& snapshot) {
  const std::string why = WhyNotRunning(snapshot.pods);
  if (std::exchange(waits_for_, why) == why || why.empty()) return;
  surroundings_.events->Record(*job_, WarningOf(why, "Waiting", "Launch"));
}

std::optional<kube::Duration> JobRun::UntilReport() const {
  if (!device_time_.passes()) return std::nullopt;
  return kDeviceTimePeriod;
}

void JobRun::OnPodError(int worker, const absl::Status& error) {
  surroundings_.on_error(kube::KeyOf(*job_), error);
  // Nothing is said about a job while the API server is away.
  if (kube::Reason(error).empty()) return;
  surroundings_.events->Record(*job_, PodRefused(worker, error));
}

void JobRun::OnEvent(const JobEvent& event) {
  if (const auto text = ToEventText(event)) surroundings_.events->Record(*job_, *text);
  surroundings_.look_at(kube::KeyOf(*job_),
                        IsProgressAlone(event) ? kProgressPeriod : kube::Duration::zero());
}

void JobRun::OnOver(const v1alpha1::FreezePipeJobStatus&) {
  over_ = true;
  surroundings_.look_at(kube::KeyOf(*job_), kube::Duration::zero());
}

}  // namespace freezepipe::reconciler
