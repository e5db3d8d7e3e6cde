#include "operator/coordinator/simulated_job.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "operator/coordinator/session_state.h"
#include "proto/defaults.h"

namespace freezepipe::coordinator {
namespace {

constexpr int kStepsPerEpoch = 20;

JobSetup MakeSetup(const SimulatedJob::Options& options) {
  JobSetup setup;
  auto& spec = setup.spec;
  spec.mutable_worker()->set_count(options.workers);
  spec.mutable_pipeline()->set_replicas(options.replicas);
  spec.mutable_freeze()->set_policy(v1alpha1::FreezePolicy::Schedule);
  spec.mutable_freeze()->mutable_schedule()->set_start(0.2);
  spec.mutable_freeze()->mutable_schedule()->set_end(0.8);
  spec.mutable_release()->set_time_share(0.2);
  spec.mutable_checkpoint()->set_interval_steps(options.checkpoint_interval);
  ApplyDefaults(&spec);
  for (int layer = 0; layer < options.layers; ++layer) {
    setup.layer_names.push_back("layer" + std::to_string(layer));
  }
  setup.shape = {options.layers, options.total_steps, kStepsPerEpoch, 10};
  setup.term = 7;
  setup.checkpoint_directory = "checkpoints";
  return setup;
}

template <typename Copies>
void AddCopies(const Copies& copies, v1alpha1::Aborted* aborted) {
  for (const auto& [layer, steps] : copies) {
    auto* copy = aborted->add_holdings();
    copy->set_layer(layer);
    for (const auto& [step, weight] : steps) copy->add_steps(step);
  }
}

bool Owns(const v1alpha1::Plan& plan, int worker, int layer) {
  for (const auto& stage : plan.stages()) {
    if (layer < stage.first_layer() || layer >= stage.end_layer()) continue;
    if (std::count(stage.workers().begin(), stage.workers().end(), worker)) return true;
  }
  return false;
}

}  // namespace

SimulatedJob::SimulatedJob(const Options& options)
    : options_(options), random_(options.seed), session_(MakeSetup(options)) {
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
        now_ += Chance(0.01) ? 1.0 : 0.02;
        if (Chance(0.1)) Tell(Tick{});
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
    if (send->order.term() != 7) Breach("an order of another term");
    if (!process.attached && process.end_known) Breach("an order to a worker known to be gone");
    if (process.alive && process.attached) process.inbox.push_back(send->order);
    if (send->order.has_start() && send->order.start().generation() != recorded_generation_) {
      Breach("a start that is not recorded");
    }
    if (send->order.has_retire() && send->order.retire().generation() != recorded_generation_) {
      Breach("a retire that is not recorded");
    }
  } else if (const auto* launch = std::get_if<LaunchWorker>(&action)) {
    Process& process = processes_.at(launch->worker);
    if (!process.end_known) Breach("a launch of a worker that is not known to be gone");
    if (released_.contains(launch->worker)) Breach("a launch of a released worker");
    const int incarnation = process.incarnation + 1;
    process = Process{};
    process.alive = true;
    process.end_known = false;
    process.incarnation = incarnation;
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
    if (record->status.generation() < recorded_generation_) Breach("a generation that went back");
    recorded_generation_ = record->status.generation();
    cluster_events_.push_back(Recorded{record->number});
  } else if (const auto* complete = std::get_if<CompleteCheckpoint>(&action)) {
    if (static_cast<int>(written_[complete->step].size()) != options_.layers) {
      Breach("a checkpoint completed without all layers");
    }
    complete_[complete->step] = written_[complete->step];
  } else if (const auto* notice = std::get_if<Notice>(&action)) {
    if (notice->event.has_repartition_done()) {
      ++repartitions_;
      if (!settled_generations_.insert(notice->event.repartition_done().generation()).second) {
        Breach("a generation settled twice");
      }
    }
    if (notice->event.has_restored()) ++restores_;
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
  process.outbox.push_front(std::move(message));
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
      if (!Chance(0.2)) continue;
      for (auto& [layer, steps] : peer.copies) {
        if (!Owns(*plan, member, layer) || !steps.contains(peer.step)) continue;
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
  if (const auto* gone = std::get_if<WorkerGone>(&event)) {
    processes_.at(gone->worker).end_known = true;
    processes_.at(gone->worker).outbox.clear();
  }
  Tell(event);
}

void SimulatedJob::Say(int worker, v1alpha1::WorkerMessage message) {
  processes_.at(worker).outbox.push_back(std::move(message));
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

void SimulatedJob::Disturb() {
  const auto living = Living();
  if (disturbed_ >= options_.disturbances || living.empty()) return;
  ++disturbed_;
  const int worker = living[Pick(static_cast<int>(living.size()))];
  Process& process = processes_.at(worker);
  switch (Pick(4)) {
    case 0:
    case 1:
      End(worker, false);
      break;
    case 2: {
      // A whole group that hangs is beyond its peers' time-outs.
      const bool alone = !process.running || MembersOf(*process.running).size() < 2;
      const bool others =
          std::any_of(living.begin(), living.end(), [&](int id) { return processes_.at(id).hung; });
      if (alone || others) {
        End(worker, false);
      } else {
        process.hung = true;
      }
      break;
    }
    default:
      if (!process.attached) return;
      // Orders on the wire are lost; what it wanted to say waits.
      process.attached = false;
      process.inbox.clear();
      std::erase_if(process.outbox, [](const auto& message) { return message.has_hello(); });
      Tell(StreamLost{worker});
  }
}

void SimulatedJob::Obey(int worker, const v1alpha1::Order& order) {
  Process& process = processes_.at(worker);
  v1alpha1::WorkerMessage answer;
  if (order.has_profile()) {
    auto* profile = answer.mutable_profile()->mutable_profile();
    for (int layer = 0; layer < options_.layers; ++layer) {
      auto* measured = profile->add_layers();
      measured->set_name("layer" + std::to_string(layer));
      measured->set_forward_seconds(0.01);
      measured->set_backward_seconds(0.02);
      measured->set_parameter_bytes(1000);
    }
    Say(worker, answer);
  } else if (order.has_prepare()) {
    Prepare(worker, order.prepare());
  } else if (order.has_drop()) {
    process.prepared.erase(order.drop().generation());
  } else if (order.has_start()) {
    const auto& start = order.start();
    if (process.running && process.running->generation() == start.generation()) return;
    const auto plan = process.prepared.find(start.generation());
    if (plan == process.prepared.end()) return Breach("a start of what is not prepared");
    process.running = plan->second;
    process.step = start.step();
    process.last_progress = now_;
    process.finished = false;
    process.stop = false;
    process.log.assign(start.freeze_log().begin(), start.freeze_log().end());
    process.prepared.clear();
    for (auto& [layer, steps] : process.copies) {
      std::erase_if(steps, [&](const auto& copy) {
        return copy.first != start.step() || !Owns(*process.running, worker, layer);
      });
    }
  } else if (order.has_switch_()) {
    process.switch_to = order.switch_().generation();
  } else if (order.has_schedule_freeze()) {
    const auto& entry = order.schedule_freeze().entry();
    const bool known = std::any_of(process.log.begin(), process.log.end(), [&](const auto& logged) {
      return logged.boundary() == entry.boundary();
    });
    if (!known) process.freeze = entry;
  } else if (order.has_stop()) {
    process.stop = true;
  } else if (order.has_retire()) {
    // What it said it holds when it stopped must stay.
    if (!process.running) return;
    for (auto& [layer, steps] : process.copies) {
      std::erase_if(steps, [&](const auto& copy) {
        return copy.first != process.step || !Owns(*process.running, worker, layer);
      });
    }
  } else if (order.has_release()) {
    if (process.running) Breach("a release of a worker that trains");
    answer.mutable_released();
    Say(worker, answer);
    End(worker, true);
  } else if (order.has_abort()) {
    process.running.reset();
    SayAborted(worker, order.abort().generation(), "");
  } else if (order.has_exit()) {
    End(worker, true);
  }
}

void SimulatedJob::SayAborted(int worker, int generation, const std::string& reason) {
  Process& process = processes_.at(worker);
  process.switch_to.reset();
  process.freeze.reset();
  process.stop = false;
  v1alpha1::WorkerMessage message;
  message.mutable_aborted()->set_generation(generation);
  message.mutable_aborted()->set_reason(reason);
  AddCopies(process.copies, message.mutable_aborted());
  Say(worker, std::move(message));
}

void SimulatedJob::Prepare(int worker, const v1alpha1::Prepare& order) {
  Process& process = processes_.at(worker);
  const int generation = order.plan().generation();
  v1alpha1::WorkerMessage answer;
  process.term_generation = std::max(process.term_generation, generation);
  if (!order.live() && process.running) Breach("a restart prepared while training");
  const bool may_fail = order.live() && disturbed_ < options_.disturbances && Chance(0.1);
  if (may_fail) ++disturbed_;
  if (may_fail || (!order.live() && !Fetch(worker, order))) {
    answer.mutable_prepare_failed()->set_generation(generation);
    answer.mutable_prepare_failed()->set_reason("no memory");
  } else {
    process.prepared[generation] = order.plan();
    answer.mutable_prepared()->set_generation(generation);
  }
  Say(worker, std::move(answer));
}

bool SimulatedJob::Fetch(int worker, const v1alpha1::Prepare& order) {
  Process& process = processes_.at(worker);
  if (order.sources_size() != options_.layers) Breach("a layer without a source");
  for (const auto& source : order.sources()) {
    const int layer = source.layer();
    if (!Owns(order.plan(), worker, layer)) continue;
    auto& copies = process.copies[layer];
    if (source.initial()) {
      copies[order.step()] = Initial(layer);
      continue;
    }
    if (source.source_case() == v1alpha1::LayerSource::kCheckpointStep) {
      const auto checkpoint = complete_.find(source.checkpoint_step());
      if (checkpoint == complete_.end() || source.checkpoint_step() != order.step()) {
        Breach("a restore from what is no checkpoint");
        return false;
      }
      copies[order.step()] = checkpoint->second.at(layer);
      continue;
    }
    const auto& receivers = source.receivers();
    if (!std::count(receivers.begin(), receivers.end(), worker)) {
      if (!copies.contains(order.step())) Breach("a worker that should hold a layer does not");
      continue;
    }
    const Process& peer = processes_.at(source.worker());
    if (!peer.alive) return false;
    const auto held = peer.copies.find(layer);
    if (held == peer.copies.end() || !held->second.contains(order.step())) {
      // A process that took the place of the one that held it.
      return false;
    }
    copies[order.step()] = held->second.at(order.step());
  }
  return true;
}

void SimulatedJob::TimeOut() {
  for (auto& [worker, process] : processes_) {
    if (!process.alive || process.hung || !process.running || process.finished) continue;
    if (now_ - process.last_progress < 60) continue;
    const int generation = process.running->generation();
    process.running.reset();
    SayAborted(worker, generation, "a peer is silent");
  }
}

void SimulatedJob::Train() {
  TimeOut();
  for (const auto& [worker, process] : processes_) {
    if (!process.alive || process.hung || !process.running || process.finished) continue;
    if (LeadOf(*process.running) != worker) continue;
    bool together = true;
    for (const int member : MembersOf(*process.running)) {
      const Process& peer = processes_.at(member);
      together = together && peer.alive && !peer.hung && peer.running &&
                 peer.running->generation() == process.running->generation() &&
                 peer.step == process.step;
    }
    if (!together) continue;
    TakeStep(worker);
    return;
  }
}

void SimulatedJob::TakeStep(int lead) {
  Process& leader = processes_.at(lead);
  if (leader.step >= options_.total_steps || leader.stop) return Finish(*leader.running);
  if (leader.switch_to) {
    TrySwitch(lead);
    return;
  }
  // The step's header.
  if (leader.freeze && leader.step + 1 >= leader.freeze->chosen_at()) {
    auto entry = *std::exchange(leader.freeze, std::nullopt);
    const int late = std::max(0, leader.step - entry.chosen_at());
    entry.set_chosen_at(entry.chosen_at() + late);
    entry.set_frozen_at(entry.frozen_at() + late);
    v1alpha1::WorkerMessage message;
    *message.mutable_freeze_scheduled()->mutable_entry() = entry;
    Say(lead, std::move(message));
    for (const int member : MembersOf(*leader.running)) processes_.at(member).log.push_back(entry);
  }
  const v1alpha1::Plan plan = *leader.running;
  const int step = leader.step;
  for (const int member : MembersOf(plan)) {
    Process& process = processes_.at(member);
    for (int layer = 0; layer < options_.layers; ++layer) {
      if (!Owns(plan, member, layer)) continue;
      auto& copies = process.copies[layer];
      if (!copies.contains(step)) {
        Breach("training without layer " + std::to_string(layer));
        continue;
      }
      copies[step + 1] = Next(copies.at(step), layer, step, process.log);
      // The copy of the switch is kept until Retire.
      if (!process.first_step_of_switch) copies.erase(step);
    }
    ++process.step;
    process.last_progress = now_;
    if (std::exchange(process.first_step_of_switch, false)) {
      v1alpha1::WorkerMessage message;
      message.mutable_settled()->set_generation(plan.generation());
      message.mutable_settled()->set_step(step);
      Say(member, std::move(message));
    }
  }
  Report(plan, step + 1, leader.log);
}

void SimulatedJob::TrySwitch(int lead) {
  Process& leader = processes_.at(lead);
  const int generation = *leader.switch_to;
  const v1alpha1::Plan before = *leader.running;
  const auto prepared = leader.prepared.find(generation);
  if (prepared == leader.prepared.end()) {
    leader.switch_to.reset();
    return Breach("a switch to what is not prepared");
  }
  const v1alpha1::Plan plan = prepared->second;
  std::set<int> members = MembersOf(before);
  members.merge(MembersOf(plan));
  for (const int member : members) {
    const Process& process = processes_.at(member);
    if (!process.alive || process.hung || !process.prepared.contains(generation)) return;
  }
  leader.switch_to.reset();
  const int step = leader.step;
  v1alpha1::WorkerMessage scheduled;
  scheduled.mutable_switch_scheduled()->set_generation(generation);
  scheduled.mutable_switch_scheduled()->set_step(step);
  Say(lead, std::move(scheduled));
  const Log log = leader.log;
  const auto freeze = leader.freeze;
  for (int layer = 0; layer < options_.layers; ++layer) {
    std::optional<Weight> weight;
    for (const int member : MembersOf(before)) {
      const auto& copies = processes_.at(member).copies[layer];
      if (Owns(before, member, layer) && copies.contains(step)) weight = copies.at(step);
    }
    if (!weight) return Breach("a switch without layer " + std::to_string(layer));
    for (const int member : MembersOf(plan)) {
      if (Owns(plan, member, layer)) processes_.at(member).copies[layer][step] = *weight;
    }
  }
  for (const int member : members) {
    Process& process = processes_.at(member);
    v1alpha1::WorkerMessage message;
    message.mutable_switched()->set_generation(generation);
    message.mutable_switched()->set_step(step);
    message.mutable_switched()->set_stall_seconds(0.1 * member);
    Say(member, std::move(message));
    process.prepared.clear();
    process.running.reset();
    process.freeze.reset();
    if (!MembersOf(plan).contains(member)) continue;
    process.running = plan;
    process.step = step;
    process.log = log;
    process.first_step_of_switch = true;
  }
  // The same worker goes on leading with what it was told.
  if (LeadOf(plan) == lead) processes_.at(lead).freeze = freeze;
}

void SimulatedJob::Report(const v1alpha1::Plan& plan, int step, const Log& log) {
  const int lead = LeadOf(plan);
  if (step % 5 == 0) {
    for (int stage = 0; stage < plan.stages_size(); ++stage) {
      v1alpha1::WorkerMessage message;
      auto* window = message.mutable_window();
      window->set_generation(plan.generation());
      window->set_stage(stage);
      window->set_step(step);
      for (int layer = plan.stages(stage).first_layer(); layer < plan.stages(stage).end_layer();
           ++layer) {
        if (layer < planner::BoundaryAt(log, step - 1)) continue;
        auto* statistic = window->add_statistics();
        statistic->set_layer(layer);
        statistic->set_value(0.3);
      }
      if (stage == plan.stages_size() - 1) window->set_loss(0.5);
      Say(plan.stages(stage).workers(0), std::move(message));
    }
  }
  if (Chance(0.3)) {
    v1alpha1::WorkerMessage message;
    message.mutable_step()->set_generation(plan.generation());
    message.mutable_step()->set_step(step);
    Say(lead, std::move(message));
  }
  if (options_.checkpoint_interval > 0 && step % options_.checkpoint_interval == 0 &&
      step < options_.total_steps) {
    for (const auto& stage : plan.stages()) Write(stage.workers(0), plan, step);
  }
}

void SimulatedJob::Write(int worker, const v1alpha1::Plan& plan, int step) {
  Process& process = processes_.at(worker);
  v1alpha1::WorkerMessage message;
  auto* written = message.mutable_checkpoint_written();
  written->set_step(step);
  for (int layer = 0; layer < options_.layers; ++layer) {
    if (!Owns(plan, worker, layer)) continue;
    written->add_layers(layer);
    written_[step][layer] = process.copies[layer].at(step);
  }
  for (const auto& entry : process.log) {
    if (entry.chosen_at() < step) *written->add_freeze_log() = entry;
  }
  Say(worker, std::move(message));
}

void SimulatedJob::Finish(const v1alpha1::Plan& plan) {
  const int step = processes_.at(LeadOf(plan)).step;
  for (const auto& stage : plan.stages()) Write(stage.workers(0), plan, step);
  for (const int member : MembersOf(plan)) {
    processes_.at(member).finished = true;
    v1alpha1::WorkerMessage message;
    message.mutable_finished()->set_step(step);
    Say(member, std::move(message));
  }
}

SimulatedJob::Weight SimulatedJob::Next(Weight weight, int layer, int step, const Log& log) const {
  // 0: active, 1: frozen, 2 and more: so far into its cool-down.
  int mode = 0;
  for (const auto& entry : log) {
    if (layer >= entry.boundary() || mode != 0) continue;
    if (step >= entry.frozen_at()) {
      mode = 1;
    } else if (step >= entry.chosen_at()) {
      mode = 2 + step - entry.chosen_at();
    }
  }
  if (mode == 1) return weight;
  return weight * 6364136223846793005ULL + 1442695040888963407ULL + step * 31ULL + mode;
}

std::vector<unsigned long long> SimulatedJob::FinalWeights() const {
  std::vector<Weight> weights;
  if (complete_.empty()) return weights;
  for (const auto& [layer, weight] : complete_.rbegin()->second) weights.push_back(weight);
  return weights;
}

std::vector<unsigned long long> SimulatedJob::Replay(const Log& log, int step) const {
  std::vector<Weight> weights;
  for (int layer = 0; layer < options_.layers; ++layer) {
    Weight weight = Initial(layer);
    for (int i = 0; i < step; ++i) weight = Next(weight, layer, i, log);
    weights.push_back(weight);
  }
  return weights;
}

}  // namespace freezepipe::coordinator
