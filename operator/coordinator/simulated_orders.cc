// How a simulated worker obeys.
#include <algorithm>
#include <utility>

#include "operator/coordinator/session_state.h"
#include "operator/coordinator/simulated_job.h"

namespace freezepipe::coordinator {
namespace {

template <typename Copies>
void AddCopies(const Copies& copies, v1alpha1::Aborted* aborted) {
  for (const auto& [layer, steps] : copies) {
    auto* copy = aborted->add_holdings();
    copy->set_layer(layer);
    for (const auto& [step, weight] : steps) copy->add_steps(step);
  }
}

}  // namespace

bool OwnsLayer(const v1alpha1::Plan& plan, int worker, int layer) {
  for (const auto& stage : plan.stages()) {
    if (layer < stage.first_layer() || layer >= stage.end_layer()) continue;
    if (std::count(stage.workers().begin(), stage.workers().end(), worker)) return true;
  }
  return false;
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
    process.next.reset();
  } else if (order.has_start()) {
    const auto& start = order.start();
    // Repeated after a reattachment; it may have left the generation already.
    if (start.generation() <= process.last_started) return;
    process.last_started = start.generation();
    const auto plan = process.prepared.find(start.generation());
    if (plan == process.prepared.end()) return Breach("a start of what is not prepared");
    process.running = process.entered = plan->second;
    process.stands_still = false;
    process.switching_to = 0;
    process.step = start.step();
    process.finished = false;
    process.stop = false;
    process.log.assign(start.freeze_log().begin(), start.freeze_log().end());
    process.prepared.clear();
    for (auto& [layer, steps] : process.copies) {
      std::erase_if(steps, [&](const auto& copy) {
        return copy.first != start.step() || !OwnsLayer(*process.running, worker, layer);
      });
    }
  } else if (order.has_switch_()) {
    // Repeated after a reattachment; it may have switched, or stand still already.
    const int generation = order.switch_().generation();
    if (process.running && process.running->generation() < generation) {
      process.switch_to = process.switching_to = generation;
    }
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
        return copy.first != process.step || !OwnsLayer(*process.running, worker, layer);
      });
    }
  } else if (order.has_complete_checkpoint()) {
    Complete(worker, order.complete_checkpoint());
  } else if (order.has_find_checkpoint()) {
    Find(worker);
  } else if (order.has_remember()) {
    Remember(worker, order.remember());
  } else if (order.has_release()) {
    if (process.running) Breach("a release of a worker that trains");
    answer.mutable_released();
    Say(worker, answer);
    End(worker, true);
  } else if (order.has_abort()) {
    if (NeedNotStop(worker)) Breach("training that went on was stopped");
    process.running.reset();
    SayAborted(worker, order.abort().generation(), "");
  } else if (order.has_exit()) {
    End(worker, true);
  }
}

bool SimulatedJob::NeedNotStop(int worker) const {
  const auto& running = processes_.at(worker).running;
  if (disturbed_ + terminated_ > 0 || !running) return false;
  const auto members = MembersOf(*running);
  return std::all_of(members.begin(), members.end(), [&](int member) {
    const Process& process = processes_.at(member);
    return process.running && process.running->generation() == running->generation();
  });
}

void SimulatedJob::Remember(int worker, const v1alpha1::Remember& order) {
  Process& process = processes_.at(worker);
  const auto& memory = order.memory();
  if (memory.has_profile()) {
    *process.memory.mutable_profile() = memory.profile();
    process.memory.set_baseline_work_seconds(memory.baseline_work_seconds());
    process.memory.set_baseline_step_seconds(memory.baseline_step_seconds());
  }
  auto& windows = *process.memory.mutable_windows();
  const auto later = std::find_if(windows.begin(), windows.end(), [&](const auto& window) {
    return window.step() > order.after_step();
  });
  windows.erase(later, windows.end());
  windows.MergeFrom(memory.windows());
  if (memory.windows().empty()) return;
  std::erase_if(process.windows, [&](const auto& said) {
    return said.window().step() <= memory.windows().rbegin()->step();
  });
}

void SimulatedJob::Complete(int worker, const v1alpha1::CompleteCheckpoint& order) {
  const int step = order.index().step();
  const bool done = !written_.contains(step) && complete_.lower_bound(step) != complete_.end();
  if (!done) {
    if (static_cast<int>(written_[step].size()) != options_.layers) {
      Breach("a checkpoint completed without all layers");
    }
    complete_[step] = {order.index(), written_[step]};
    written_.erase(step);
    complete_.erase(complete_.upper_bound(step), complete_.end());
    while (static_cast<int>(complete_.size()) > order.keep()) complete_.erase(complete_.begin());
  }
  v1alpha1::WorkerMessage answer;
  answer.mutable_checkpoint_completed()->set_step(step);
  Say(worker, std::move(answer));
}

void SimulatedJob::Find(int worker) {
  v1alpha1::WorkerMessage answer;
  auto* found = answer.mutable_checkpoint_found();
  for (const auto& [step, checkpoint] : complete_) {
    if (found->has_newest()) found->add_older_steps(found->newest().step());
    *found->mutable_newest() = checkpoint.index;
  }
  Say(worker, std::move(answer));
}

void SimulatedJob::SayAborted(int worker, int generation, const std::string& reason) {
  Process& process = processes_.at(worker);
  process.stands_still = true;
  process.next.reset();
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
  process.next = order.plan();
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
    if (!OwnsLayer(order.plan(), worker, layer)) continue;
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
      copies[order.step()] = checkpoint->second.weights.at(layer);
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

}  // namespace freezepipe::coordinator
