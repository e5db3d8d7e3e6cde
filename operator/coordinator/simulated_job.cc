#include "operator/coordinator/simulated_job.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "operator/coordinator/session_state.h"
#include "proto/defaults.h"

namespace freezepipe::coordinator {
namespace {

constexpr int kStepsPerEpoch = 20;

JobSetup MakeSetup(const SimulatedJob::Options& options, int term) {
  JobSetup setup;
  auto& spec = setup.spec;
  spec.mutable_worker()->set_count(options.workers);
  spec.mutable_pipeline()->set_replicas(options.replicas);
  spec.mutable_freeze()->set_policy(v1alpha1::FreezePolicy::Schedule);
  spec.mutable_freeze()->mutable_schedule()->set_start(0.2);
  spec.mutable_freeze()->mutable_schedule()->set_end(0.8);
  spec.mutable_release()->set_time_share(0.2);
  if (options.replicate) {
    spec.mutable_release()->set_objective(v1alpha1::ReleaseObjective::Time);
    spec.mutable_release()->set_when_released(v1alpha1::WhenReleased::Replicate);
  }
  spec.mutable_checkpoint()->set_interval_steps(options.checkpoint_interval);
  ApplyDefaults(&spec);
  for (int layer = 0; layer < options.layers; ++layer) {
    setup.layer_names.push_back("layer" + std::to_string(layer));
  }
  setup.shape = {options.layers, options.total_steps, kStepsPerEpoch, 10};
  setup.term = term;
  setup.checkpoint_directory = "checkpoints";
  return setup;
}

}  // namespace

SimulatedJob::SimulatedJob(const Options& options)
    : options_(options), random_(options.seed), session_(MakeSetup(options, kFirstTerm)) {
  for (int worker = 0; worker < options.workers; ++worker) processes_[worker];
}

bool SimulatedJob::Chance(double probability) {
  return std::uniform_real_distribution<>(0, 1)(random_) < probability;
}

int SimulatedJob::Pick(int count) { return std::uniform_int_distribution<>(0, count - 1)(random_); }

std::vector<int> SimulatedJob::Living() const {
  std::vector<int> living;
  for (const auto& [worker, process] : processes_) {
    if (process.alive) living.push_back(worker);
  }
  return living;
}

void SimulatedJob::Run() {
  Tell(JobStarted{});
  constexpr int kTurns = 1'000'000;
  for (int turn = 0; turn < kTurns && !over_; ++turn) {
    switch (Pick(6)) {
      case 0:
      case 1:
        DeliverMessage();
        break;
      case 2:
        DeliverOrder();
        break;
      case 3:
        DeliverClusterEvent();
        break;
      case 4:
        // A step takes longer than most messages.
        if (Chance(0.1)) Train();
        break;
      default:
        if (Chance(0.005)) Disturb();
        if (Chance(0.003)) TerminateSome();
        KillTerminated();
        now_ += Chance(0.01) ? 1.0 : 0.02;
        if (Chance(0.1)) Tell(Tick{});
        if (Chance(0.005) && take_overs() < options_.take_overs) TakeOver();
        // The status is written now and then whatever happens.
        if (Chance(0.01) && records_.empty()) MakeDurable(session_.status());
    }
    if (options_.stop_midway && !stopped_ && status().step() > options_.total_steps / 2) {
      stopped_ = true;
      Tell(StopRequested{});
    }
  }
}

void SimulatedJob::Tell(const Event& event) {
  for (const Action& action : session_.Handle(event, now_)) CarryOut(action);
}

void SimulatedJob::CarryOut(const Action& action) {
  if (over_) return Breach("an action after JobOver");
  if (const auto* send = std::get_if<SendOrder>(&action)) {
    Process& process = processes_.at(send->worker);
    if (send->order.term() != term_) Breach("an order of another term");
    if (!process.attached && process.end_known) Breach("an order to a worker known to be gone");
    if (process.alive && process.attached) process.inbox.push_back(send->order);
    if (send->order.has_start() && send->order.start().generation() != durable_.generation()) {
      Breach("a start that is not recorded");
    }
    if (send->order.has_retire() && send->order.retire().generation() != durable_.generation()) {
      Breach("a retire that is not recorded");
    }
  } else if (const auto* launch = std::get_if<LaunchWorker>(&action)) {
    Process& process = processes_.at(launch->worker);
    if (std::exchange(process.adopted, false)) return;
    if (!process.end_known) Breach("a launch of a worker that is not known to be gone");
    if (released_.contains(launch->worker)) Breach("a launch of a released worker");
    const int incarnation = process.incarnation + 1;
    process = Process{};
    process.alive = true;
    process.end_known = false;
    process.incarnation = incarnation;
    ++launches_;
    Attach(launch->worker);
  } else if (const auto* kill = std::get_if<KillWorker>(&action)) {
    if (processes_.at(kill->worker).alive) End(kill->worker, false);
  } else if (const auto* record = std::get_if<Record>(&action)) {
    const auto& log = record->status.freeze_log();
    for (int i = 1; i < log.size(); ++i) {
      if (log[i].boundary() <= log[i - 1].boundary() ||
          log[i].chosen_at() < log[i - 1].chosen_at()) {
        Breach("a freeze log that is not monotone");
      }
    }
    if (record->status.generation() < durable_.generation()) Breach("a generation that went back");
    records_[record->number] = record->status;
    cluster_events_.push_back(Recorded{record->number});
  } else if (const auto* notice = std::get_if<Notice>(&action)) {
    if (notice->event.has_repartition_done()) {
      ++repartitions_;
      if (!settled_generations_.insert(notice->event.repartition_done().generation()).second) {
        Breach("a generation settled twice");
      }
    }
    if (notice->event.has_restored()) {
      ++restores_;
      steps_lost_ += notice->event.restored().steps_lost();
    }
    if (notice->event.has_worker_released()) {
      if (!released_.insert(notice->event.worker_released().worker()).second) {
        Breach("a worker released twice");
      }
    }
  } else {
    over_ = true;
  }
}

void SimulatedJob::Attach(int worker) {
  Process& process = processes_.at(worker);
  process.attached = true;
  v1alpha1::WorkerMessage message;
  auto* hello = message.mutable_hello();
  hello->set_worker(worker);
  hello->set_incarnation(std::to_string(process.incarnation));
  hello->set_host("127.0.0.1");
  hello->set_store_port(4000 + worker);
  hello->set_device("cpu");
  hello->set_generation(process.term_generation);
  for (const auto& [layer, steps] : process.copies) {
    auto* copy = hello->add_holdings();
    copy->set_layer(layer);
    for (const auto& [step, weight] : steps) copy->add_steps(step);
  }
  if (process.entered) {
    *hello->mutable_plan() = *process.entered;
    hello->set_stands_still(process.stands_still);
    hello->mutable_freeze_log()->Assign(process.log.begin(), process.log.end());
  }
  if (process.next && process.next->generation() > hello->plan().generation()) {
    *hello->mutable_next() = *process.next;
  }
  hello->set_switching_to(process.switching_to);
  hello->set_stopping(process.stop);
  *hello->mutable_memory() = process.memory;
  hello->set_terminating(process.terminating);
  std::deque<v1alpha1::WorkerMessage> first = {std::move(message)};
  first.insert(first.end(), process.windows.begin(), process.windows.end());
  for (const auto& [kind, said] : process.standing) first.push_back(said);
  process.outbox.insert(process.outbox.begin(), first.begin(), first.end());
}

void SimulatedJob::MakeDurable(const v1alpha1::FreezePipeJobStatus& record) { durable_ = record; }

void SimulatedJob::TakeOver() {
  ++term_;
  // Orders and records that were under way may have got there, and nobody has heard of it.
  for (auto& [worker, process] : processes_) {
    while (process.alive && !process.hung && !process.inbox.empty() && Chance(0.5)) {
      const auto order = std::move(process.inbox.front());
      process.inbox.pop_front();
      Obey(worker, order);
    }
  }
  for (const auto& [number, record] : records_) {
    if (!Chance(0.5)) break;
    MakeDurable(record);
  }
  records_.clear();
  if (durable_.state() == v1alpha1::JobState::Succeeded ||
      durable_.state() == v1alpha1::JobState::Stopped) {
    over_ = true;  // there is nothing to take over
    return;
  }
  cluster_events_.clear();
  for (auto& [worker, process] : processes_) {
    process.attached = false;
    process.inbox.clear();
    std::erase_if(process.outbox, [](const auto& message) { return message.has_hello(); });
    process.end_known = !process.alive;
    process.adopted = process.alive;
    if (!process.alive) process.outbox.clear();
  }
  JobSetup setup = MakeSetup(options_, term_);
  setup.record = durable_;
  session_ = JobSession(std::move(setup));
  Tell(JobStarted{});
  if (stopped_) Tell(StopRequested{});
}

void SimulatedJob::End(int worker, bool clean) {
  Process& process = processes_.at(worker);
  process.alive = false;
  process.attached = false;
  process.inbox.clear();
  // What was on the wire still arrives, if it arrives before the news of the end.
  if (!clean) process.outbox.resize(Pick(static_cast<int>(process.outbox.size()) + 1));
  // Some of the others may have finished the step under way.
  const auto plan = process.running;
  if (plan && !clean) {
    for (const int member : MembersOf(*plan)) {
      Process& peer = processes_.at(member);
      if (!peer.alive || !peer.running || peer.running->generation() != plan->generation())
        continue;
      if (peer.step >= options_.total_steps || !Chance(0.2)) continue;
      for (auto& [layer, steps] : peer.copies) {
        if (!OwnsLayer(*plan, member, layer) || !steps.contains(peer.step)) continue;
        const Weight next = Next(steps.at(peer.step), layer, peer.step, peer.log);
        steps.erase(peer.step);
        steps[peer.step + 1] = next;
      }
      // It stands in the next step's header now and never gets it.
      const int generation = peer.running->generation();
      peer.running.reset();
      SayAborted(member, generation, "a peer is gone");
    }
  }
  cluster_events_.push_back(StreamLost{worker});
  cluster_events_.push_back(WorkerGone{worker, clean ? "exited" : "killed by signal 9"});
}

void SimulatedJob::DeliverClusterEvent() {
  if (cluster_events_.empty()) return;
  const Event event = cluster_events_.front();
  cluster_events_.pop_front();
  if (const auto* recorded = std::get_if<Recorded>(&event)) {
    MakeDurable(records_.at(recorded->number));
    records_.erase(recorded->number);
  }
  if (const auto* gone = std::get_if<WorkerGone>(&event)) {
    processes_.at(gone->worker).end_known = true;
    processes_.at(gone->worker).outbox.clear();
  }
  Tell(event);
}

void SimulatedJob::Say(int worker, v1alpha1::WorkerMessage message) {
  using Kind = v1alpha1::WorkerMessage::KindCase;
  Process& process = processes_.at(worker);
  switch (message.kind_case()) {
    case Kind::kPrepared:
    case Kind::kSwitched:
    case Kind::kSettled:
    case Kind::kCheckpointWritten:
    case Kind::kFinished:
      process.standing[message.kind_case()] = message;
      break;
    case Kind::kWindow:
      process.windows.push_back(message);
      break;
    case Kind::kAborted:
      process.standing.erase(Kind::kCheckpointWritten);
      process.standing.erase(Kind::kFinished);
      break;
    default:
      break;
  }
  process.outbox.push_back(std::move(message));
}

void SimulatedJob::DeliverMessage() {
  const int worker = Pick(options_.workers);
  Process& process = processes_.at(worker);
  if (process.alive && !process.attached) {
    // Its back-off is over.
    if (Chance(0.05)) Attach(worker);
    return;
  }
  if (process.outbox.empty() || process.end_known) return;
  auto message = std::move(process.outbox.front());
  process.outbox.pop_front();
  if (message.has_hello()) {
    Tell(WorkerAttached{message.hello()});
  } else {
    Tell(WorkerSaid{worker, std::move(message)});
  }
}

void SimulatedJob::DeliverOrder() {
  const int worker = Pick(options_.workers);
  Process& process = processes_.at(worker);
  if (!process.alive || process.hung || process.inbox.empty()) return;
  const auto order = std::move(process.inbox.front());
  process.inbox.pop_front();
  Obey(worker, order);
}

void SimulatedJob::TerminateSome() {
  const auto living = Living();
  if (terminated_ >= options_.terminations || living.empty()) return;
  const int worker = living[Pick(static_cast<int>(living.size()))];
  const Process& process = processes_.at(worker);
  if (!process.running || process.terminating) return;
  ++terminated_;
  constexpr Seconds kLong = 1e6;
  Terminate(worker, kLong);
}

void SimulatedJob::Terminate(int worker, Seconds grace_period) {
  Process& process = processes_.at(worker);
  process.terminating = true;
  process.killed_at = now_ + grace_period;
  v1alpha1::WorkerMessage message;
  message.mutable_terminating();
  Say(worker, std::move(message));
}

void SimulatedJob::KillTerminated() {
  for (const int worker : Living()) {
    const Process& process = processes_.at(worker);
    if (process.terminating && now_ >= process.killed_at) End(worker, false);
  }
}

void SimulatedJob::Disturb() {
  const auto living = Living();
  if (disturbed_ >= options_.disturbances || living.empty()) return;
  ++disturbed_;
  const int worker = living[Pick(static_cast<int>(living.size()))];
  Process& process = processes_.at(worker);
  switch (Pick(5)) {
    case 4:
      if (process.running) Terminate(worker, Pick(10));
      break;
    case 0:
    case 1:
      End(worker, false);
      break;
    case 2:
      process.hung = true;
      break;
    default:
      if (!process.attached) return;
      // Orders on the wire are lost; what it wanted to say waits.
      process.attached = false;
      process.inbox.clear();
      std::erase_if(process.outbox, [](const auto& message) { return message.has_hello(); });
      Tell(StreamLost{worker});
  }
}

}  // namespace freezepipe::coordinator
