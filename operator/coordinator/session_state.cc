#include "operator/coordinator/session_state.h"

#include <algorithm>
#include <utility>

#include "operator/coordinator/job_setup.h"

namespace freezepipe::coordinator {

SessionState::SessionState(JobSetup given)
    : setup(std::move(given)),
      collector(layers()),
      checkpoints(layers(), setup.spec.checkpoint().keep()) {
  for (int worker = 0; worker < setup.spec.worker().count(); ++worker) workers[worker];
  if (described()) FitToLayers();
  status.set_step(0);
  status.set_restarts(0);
  status.set_disruptions(0);
  if (setup.resume) {
    step = setup.resume->step;
    freeze_log = setup.resume->freeze_log;
    windows = setup.resume->windows;
    for (const int older : setup.resume->older_checkpoints) checkpoints.AddComplete(older);
    checkpoints.AddComplete(step);
    status.set_step(step);
    status.set_checkpoint_step(step);
  }
  if (setup.record) TakeRecord(*setup.record);
  if (setup.spec.freeze().policy() == v1alpha1::FreezePolicy::Manual) {
    freeze_log.assign(setup.spec.freeze().manual().begin(), setup.spec.freeze().manual().end());
  }
  // What happened before this session was told then.
  for (const auto& entry : freeze_log) {
    if (entry.chosen_at() < step) chosen_noticed.insert(entry.boundary());
    if (entry.frozen_at() < step) frozen_noticed.insert(entry.boundary());
  }
}

void SessionState::Describe(const v1alpha1::JobDescription& given) {
  description = given;
  const JobSetup known = MakeJobSetup(setup.spec, given);
  setup.layer_names = known.layer_names;
  setup.shape = known.shape;
  FitToLayers();
}

void SessionState::FitToLayers() {
  policy = planner::MakeFreezePolicy(setup.spec.freeze(), setup.shape);
  collector = WindowCollector(layers());
  checkpoints.SetLayers(layers());
  status.set_total_steps(setup.shape.total_steps);
}

void SessionState::TakeRecord(const v1alpha1::FreezePipeJobStatus& record) {
  step = record.step();
  freeze_log.assign(record.freeze_log().begin(), record.freeze_log().end());
  last_generation = record.generation();
  if (record.has_checkpoint_step()) {
    checkpoints.AddComplete(record.checkpoint_step());
    status.set_checkpoint_step(record.checkpoint_step());
  }
  status.set_state(record.state());
  status.set_message(record.message());
  status.set_restarts(record.restarts());
  status.set_disruptions(record.disruptions());
  if (record.has_loss()) status.set_loss(record.loss());
  if (record.has_accuracy()) status.set_accuracy(record.accuracy());
}

v1alpha1::Order SessionState::NewOrder() const {
  v1alpha1::Order order;
  order.set_term(setup.term);
  return order;
}

void SessionState::Send(int worker, v1alpha1::Order order) {
  if (!workers.at(worker).attached) return;
  actions.push_back(SendOrder{worker, std::move(order)});
}

void SessionState::Kill(int worker) {
  Worker& state = workers.at(worker);
  if (!state.alive || state.killed) return;
  state.killed = true;
  actions.push_back(KillWorker{worker});
}

void SessionState::Launch(int worker) {
  workers.at(worker) = Worker{.alive = true};
  actions.push_back(LaunchWorker{worker});
}

v1alpha1::JobEvent SessionState::NewEvent() const {
  v1alpha1::JobEvent event;
  event.set_time(now - started_at);
  event.set_step(step);
  return event;
}

void SessionState::Say(v1alpha1::JobEvent event) { actions.push_back(Notice{std::move(event)}); }

void SessionState::SetState(v1alpha1::JobState::Type state, const std::string& message) {
  if (status.state() == state && status.message() == message) return;
  status.set_state(state);
  status.set_message(message);
  auto event = NewEvent();
  event.mutable_state_changed()->set_state(state);
  event.mutable_state_changed()->set_message(message);
  Say(std::move(event));
}

void SessionState::RefreshStatus() {
  status.set_step(step);
  status.set_boundary(BoundaryAt(step));
  if (described()) {
    status.set_progress_percent(static_cast<int>(int64_t{100} * step / setup.shape.total_steps));
  }
  status.mutable_freeze_log()->Assign(freeze_log.begin(), freeze_log.end());
}

void SessionState::WriteRecord(PendingRecord::Purpose purpose, int generation) {
  RefreshStatus();
  pending_records[++last_record] = {purpose, generation};
  Record record{last_record, status};
  // The plan is in force as soon as the record is safe.
  if (purpose == PendingRecord::Purpose::kStart || purpose == PendingRecord::Purpose::kSettled) {
    record.status.set_state(v1alpha1::JobState::Running);
    record.status.clear_message();
  }
  actions.push_back(std::move(record));
}

std::vector<v1alpha1::FreezeLogEntry> SessionState::ConfirmedFreezes() const {
  return {freeze_log.begin(), freeze_log.end() - (outstanding ? 1 : 0)};
}

int SessionState::BoundaryAt(int step) const {
  return planner::BoundaryAt(ConfirmedFreezes(), step);
}

std::set<int> SessionState::Members() const {
  if (current) return MembersOf(*current);
  if (next) return MembersOf(next->plan);
  return {};
}

std::set<int> SessionState::Needed() const {
  std::set<int> needed = Members();
  if (needed.empty()) {
    for (const auto& [worker, state] : workers) needed.insert(worker);
  }
  return needed;
}

std::set<int> SessionState::Awaited() const {
  if (!current) return {};
  return {current->awaited().begin(), current->awaited().end()};
}

bool SessionState::Trains() const {
  return phase == Phase::kRunning || phase == Phase::kPreparingLive || phase == Phase::kSwitching ||
         phase == Phase::kSettling;
}

bool SessionState::AllAttached(const std::set<int>& needed) const {
  for (const int worker : needed) {
    if (!workers.at(worker).attached) return false;
  }
  return true;
}

std::set<int> MembersOf(const v1alpha1::Plan& plan) {
  std::set<int> members;
  for (const auto& stage : plan.stages()) {
    members.insert(stage.workers().begin(), stage.workers().end());
  }
  return members;
}

int LeadOf(const v1alpha1::Plan& plan) { return plan.stages().rbegin()->workers(0); }

std::vector<int> LayerCounts(const v1alpha1::Plan& plan) {
  std::vector<int> counts;
  for (const auto& stage : plan.stages()) counts.push_back(stage.end_layer() - stage.first_layer());
  return counts;
}

}  // namespace freezepipe::coordinator
