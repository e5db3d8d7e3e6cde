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
  } else if (order.has_start()) {
    const auto& start = order.start();
    // Repeated after a reattachment; it may have left the generation already.
    if (start.generation() <= process.last_started) return;
    process.last_started = start.generation();
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
        return copy.first != start.step() || !OwnsLayer(*process.running, worker, layer);
      });
    }
  } else if (order.has_switch_()) {
    // Repeated after a reattachment; it may have switched, or stand still already.
    const int generation = order.switch_().generation();
    if (process.running && process.running->generation() < generation) {
      process.switch_to = generation;
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
    const int step = order.complete_checkpoint().index().step();
    if (static_cast<int>(written_[step].size()) != options_.layers) {
      Breach("a checkpoint completed without all layers");
    }
    complete_[step] = written_[step];
    answer.mutable_checkpoint_completed()->set_step(step);
    Say(worker, answer);
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

}  // namespace freezepipe::coordinator
