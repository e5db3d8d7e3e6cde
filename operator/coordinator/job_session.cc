#include "operator/coordinator/job_session.h"

#include <utility>

#include "operator/coordinator/attachment.h"
#include "operator/coordinator/checkpointing.h"
#include "operator/coordinator/describing.h"
#include "operator/coordinator/finishing.h"
#include "operator/coordinator/freezing.h"
#include "operator/coordinator/recovery.h"
#include "operator/coordinator/release.h"
#include "operator/coordinator/repartition.h"
#include "operator/coordinator/restart.h"
#include "operator/coordinator/running.h"
#include "operator/coordinator/said.h"
#include "operator/coordinator/session_limits.h"
#include "operator/coordinator/session_state.h"
#include "operator/coordinator/start_up.h"

namespace freezepipe::coordinator {
namespace {

void OnRecorded(SessionState& state, int number) {
  const auto found = state.pending_records.find(number);
  if (found == state.pending_records.end()) return;
  const PendingRecord record = found->second;
  state.pending_records.erase(found);
  switch (record.purpose) {
    case PendingRecord::Purpose::kStart:
      return OnStartRecorded(state, record.generation);
    case PendingRecord::Purpose::kSettled:
      return OnSettledRecorded(state, record.generation);
    case PendingRecord::Purpose::kFreeze:
      return OnFreezeRecorded(state);
    case PendingRecord::Purpose::kEnd:
      return OnEndRecorded(state);
    case PendingRecord::Purpose::kNote:
      return;
  }
}

void OnTick(SessionState& state) {
  EnforceRelease(state);
  EnforceCompletions(state);
  if (state.phase == Phase::kPreparingLive && state.now - state.next->since >= kPrepareLimit) {
    DropRepartition(state, "not every worker was prepared within " +
                               std::to_string(static_cast<int>(kPrepareLimit)) + " s");
  }
  ContinueExiting(state);
  EnforceProgress(state);
  if (state.phase != Phase::kConcluding && state.phase != Phase::kExiting) EnforcePresence(state);
}

struct Dispatch {
  SessionState& state;

  void operator()(const JobStarted&) const {
    if (state.phase == Phase::kPending) StartJob(state);
  }
  void operator()(const WorkerAttached& event) const { OnAttached(state, event.hello); }
  void operator()(const WorkerSaid& event) const {
    const auto found = state.workers.find(event.worker);
    // Nothing that a process said before it was lost counts after.
    if (found == state.workers.end() || !found->second.attached) return;
    Hear(state, event.worker, event.message);
  }
  void operator()(const StreamLost& event) const { OnStreamLost(state, event.worker); }
  void operator()(const WorkerGone& event) const {
    OnWorkerGone(state, event.worker, {.why = event.why, .disrupted = event.disrupted});
  }
  void operator()(const Recorded& event) const { OnRecorded(state, event.number); }
  void operator()(const RecordFailed& event) const { OnRecordFailed(state, event.why); }
  void operator()(const StopRequested&) const { OnStopRequested(state); }
  void operator()(const GiveUp& event) const {
    Conclude(state, v1alpha1::JobState::Failed, event.why);
  }
  void operator()(const Tick&) const { OnTick(state); }
};

}  // namespace

JobSession::JobSession(JobSetup setup) : state_(std::make_unique<SessionState>(std::move(setup))) {}
JobSession::JobSession(JobSession&&) noexcept = default;
JobSession& JobSession::operator=(JobSession&&) noexcept = default;
JobSession::~JobSession() = default;

std::vector<Action> JobSession::Handle(const Event& event, Seconds now) {
  if (over()) return {};
  state_->now = now;
  std::visit(Dispatch{*state_}, event);
  ContinueRunning(*state_);
  state_->RefreshStatus();
  return std::exchange(state_->actions, {});
}

const v1alpha1::FreezePipeJobStatus& JobSession::status() const { return state_->status; }

bool JobSession::over() const { return state_->phase == Phase::kOver; }

}  // namespace freezepipe::coordinator
