#include "operator/coordinator/plan_builder.h"

#include <map>
#include <string>
#include <utility>

namespace freezepipe::coordinator {

namespace {

void Scale(v1alpha1::LayerProfile& layer, double factor) {
  layer.set_forward_seconds(factor * layer.forward_seconds());
  layer.set_backward_seconds(factor * layer.backward_seconds());
  if (layer.has_first_active_backward_seconds()) {
    layer.set_first_active_backward_seconds(factor * layer.first_active_backward_seconds());
  }
}

}  // namespace

planner::CostModel CostsAt(const SessionState& state, int boundary) {
  auto model = planner::MakeCostModel(state.setup.spec, *state.profile, boundary);
  if (state.not_cached.contains(boundary)) model.frozen_work = planner::FrozenWork::kForward;
  if (state.current) model.replicas = state.current->replicas();
  for (size_t layer = 0; layer < state.layer_factors.size(); ++layer) {
    Scale(model.layers[layer], state.layer_factors[layer]);
  }
  // Workers on the CPUs of one machine share its memory.
  std::map<std::string, int> sharing;
  for (const auto& [id, worker] : state.workers) {
    if (worker.hello.device() == "cpu") ++sharing[worker.hello.node()];
  }
  for (const auto& [id, worker] : state.workers) {
    auto bytes = static_cast<double>(worker.hello.memory_bytes());
    if (bytes <= 0) continue;
    if (worker.hello.device() == "cpu") bytes /= sharing[worker.hello.node()];
    if (model.memory_bytes == 0 || bytes < model.memory_bytes) model.memory_bytes = bytes;
  }
  return model;
}

std::vector<planner::HeldWorker> HeldWorkers(const SessionState& state,
                                             const std::set<int>& usable) {
  std::vector<planner::HeldWorker> held;
  for (const int id : usable) {
    planner::HeldWorker worker;
    worker.worker = id;
    worker.node = state.workers.at(id).hello.node();
    if (state.current) {
      for (const auto& stage : state.current->stages()) {
        for (const int owner : stage.workers()) {
          if (owner != id) continue;
          for (int layer = stage.first_layer(); layer < stage.end_layer(); ++layer) {
            worker.layers.push_back(layer);
          }
        }
      }
    }
    held.push_back(std::move(worker));
  }
  return held;
}

void Await(const std::set<int>& workers, v1alpha1::Plan& plan) {
  const auto members = MembersOf(plan);
  for (const int worker : workers) {
    if (!members.contains(worker)) plan.add_awaited(worker);
  }
}

v1alpha1::Plan NewPlan(SessionState& state, const planner::PlannedStages& planned, int boundary) {
  v1alpha1::Plan plan;
  plan.set_term(state.setup.term);
  plan.set_generation(++state.last_generation);
  plan.set_boundary(boundary);
  plan.set_replicas(planned.shape.replicas);
  plan.set_predicted_step_seconds(planned.step_seconds);
  int first = 0;
  for (size_t i = 0; i < planned.shape.partition.size(); ++i) {
    auto* stage = plan.add_stages();
    stage->set_first_layer(first);
    stage->set_end_layer(planned.shape.partition[i]);
    stage->mutable_workers()->Assign(planned.workers[i].begin(), planned.workers[i].end());
    if (i < planned.stage_seconds.size()) stage->set_predicted_seconds(planned.stage_seconds[i]);
    first = planned.shape.partition[i];
  }
  Await(state.Awaited(), plan);
  return plan;
}

v1alpha1::Plan Renumbered(SessionState& state, const v1alpha1::Plan& plan) {
  v1alpha1::Plan renumbered = plan;
  renumbered.set_term(state.setup.term);
  renumbered.set_generation(++state.last_generation);
  return renumbered;
}

void SetAddresses(const SessionState& state, const std::set<int>& workers, v1alpha1::Plan& plan) {
  plan.clear_addresses();
  for (const int id : workers) {
    const auto& hello = state.workers.at(id).hello;
    auto* address = plan.add_addresses();
    address->set_worker(id);
    address->set_host(hello.host());
    address->set_store_port(hello.store_port());
  }
}

planner::Partition PartitionOf(const v1alpha1::Plan& plan) {
  planner::Partition partition;
  for (const auto& stage : plan.stages()) partition.push_back(stage.end_layer());
  return partition;
}

std::vector<int> OwnersOf(const v1alpha1::Plan& plan, int layer) {
  for (const auto& stage : plan.stages()) {
    if (layer < stage.end_layer()) return {stage.workers().begin(), stage.workers().end()};
  }
  return {};
}

std::set<int> ReleasedBy(const SessionState& state, const v1alpha1::Plan& plan) {
  std::set<int> released;
  for (const auto& [worker, unused] : state.workers) released.insert(worker);
  for (const int worker : MembersOf(plan)) released.erase(worker);
  for (const int worker : plan.awaited()) released.erase(worker);
  return released;
}

void DescribePlan(SessionState& state, const v1alpha1::Plan& plan, int step) {
  auto& status = state.status;
  status.set_generation(plan.generation());
  status.set_generation_step(step);
  status.clear_workers();
  status.clear_released_workers();
  const auto members = MembersOf(plan);
  const auto released = ReleasedBy(state, plan);
  for (const auto& [worker, unused] : state.workers) {
    if (members.contains(worker)) status.add_workers(worker);
    if (released.contains(worker)) status.add_released_workers(worker);
  }
  status.set_freed_workers(status.released_workers_size());
  status.set_stage_count(plan.stages_size());
  status.clear_stages();
  for (const auto& stage : plan.stages()) {
    auto* described = status.add_stages();
    described->set_first_layer(stage.first_layer());
    described->set_end_layer(stage.end_layer());
    *described->mutable_workers() = stage.workers();
  }
}

void SayPlanMade(SessionState& state, const v1alpha1::Plan& plan) {
  auto event = state.NewEvent();
  auto* made = event.mutable_plan_made();
  made->set_generation(plan.generation());
  made->set_boundary(plan.boundary());
  made->set_predicted_step_seconds(plan.predicted_step_seconds());
  for (const auto& stage : plan.stages()) {
    auto* layout = made->add_stages();
    layout->set_first_layer(stage.first_layer());
    layout->set_end_layer(stage.end_layer());
    *layout->mutable_workers() = stage.workers();
    layout->set_first_name(state.setup.layer_names.at(stage.first_layer()));
    layout->set_last_name(state.setup.layer_names.at(stage.end_layer() - 1));
  }
  state.Say(std::move(event));
}

}  // namespace freezepipe::coordinator
