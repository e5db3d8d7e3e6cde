// How simulated workers train, in lockstep.
#include <algorithm>
#include <utility>

#include "operator/coordinator/session_state.h"
#include "operator/coordinator/simulated_job.h"

namespace freezepipe::coordinator {

void SimulatedJob::Train() {
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
    if (entry.frozen_at() < options_.total_steps) {
      *message.mutable_freeze_scheduled()->mutable_entry() = entry;
      for (const int member : MembersOf(*leader.running)) {
        processes_.at(member).log.push_back(entry);
      }
    } else {
      *message.mutable_freeze_too_late()->mutable_entry() = entry;
      message.mutable_freeze_too_late()->set_step(leader.step);
    }
    Say(lead, std::move(message));
  }
  const v1alpha1::Plan plan = *leader.running;
  const int step = leader.step;
  for (const int member : MembersOf(plan)) {
    Process& process = processes_.at(member);
    for (int layer = 0; layer < options_.layers; ++layer) {
      if (!OwnsLayer(plan, member, layer)) continue;
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
      if (OwnsLayer(before, member, layer) && copies.contains(step)) weight = copies.at(step);
    }
    if (!weight) return Breach("a switch without layer " + std::to_string(layer));
    for (const int member : MembersOf(plan)) {
      if (OwnsLayer(plan, member, layer)) processes_.at(member).copies[layer][step] = *weight;
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
    process.entered = plan;
    process.log = log;
    process.freeze.reset();
    if (!MembersOf(plan).contains(member)) continue;
    process.running = plan;
    process.step = step;
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
    if (!OwnsLayer(plan, worker, layer)) continue;
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
  for (const auto& [layer, weight] : complete_.rbegin()->second.weights) weights.push_back(weight);
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
