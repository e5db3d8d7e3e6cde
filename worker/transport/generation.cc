#include "worker/transport/generation.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>

#include "worker/transport/shared_memory.h"

namespace freezepipe::worker {
namespace {

constexpr int kGreetingTag = 90;

std::vector<int> WorkersByRank(const v1alpha1::Plan& plan) {
  std::vector<int> workers;
  for (int replica = 0; replica < plan.replicas(); ++replica) {
    for (const auto& stage : plan.stages()) workers.push_back(stage.workers(replica));
  }
  std::vector<int> leaving;
  for (const auto& address : plan.addresses()) {
    if (std::find(workers.begin(), workers.end(), address.worker()) == workers.end()) {
      leaving.push_back(address.worker());
    }
  }
  std::sort(leaving.begin(), leaving.end());
  workers.insert(workers.end(), leaving.begin(), leaving.end());
  return workers;
}

/// Every rank sees the memory of every other.
bool AllShareMemory(Group& group) {
  std::vector<int> peers;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank != group.rank()) peers.push_back(rank);
  }
  const auto sharing = at::zeros({1}, at::kLong);
  sharing.fill_(static_cast<int64_t>(PeersSharingMemory(group, peers).size()));
  group.AllReduce(sharing).Wait();
  return sharing.item<int64_t>() == int64_t{group.size()} * (group.size() - 1);
}

}  // namespace

Generation::Generation(v1alpha1::Plan plan, int worker, BackendFactory& control,
                       BackendFactory* device)
    : plan_(std::move(plan)), workers_(WorkersByRank(plan_)) {
  const int rank = RankOf(worker);
  const int members = stages() * replicas();
  const int host = workers_[lead_rank()];
  const auto address =
      std::find_if(plan_.addresses().begin(), plan_.addresses().end(),
                   [&](const auto& candidate) { return candidate.worker() == host; });
  if (address == plan_.addresses().end()) throw TransportError("plan lacks the lead's address");

  const auto make = [&](const std::string& name, BackendFactory& factory, int group_rank,
                        int size) {
    const auto prefix = std::to_string(plan_.term()) + "/" + std::to_string(number()) + "/" + name;
    try {
      const auto store = ConnectStore(address->host(), address->store_port(), prefix);
      return std::make_unique<Group>(factory.Make(store, group_rank, size), group_rank, size);
    } catch (const std::exception& error) {
      throw TransportError("forming group " + name + ": " + error.what());
    }
  };
  transfer_ = make("transfer", control, rank, static_cast<int>(workers_.size()));
  if (rank >= members) return;

  position_ = {rank % stages(), rank / stages()};
  world_ = make("world", control, rank, members);
  if (device != nullptr) {
    forward_ = make("forward", *device, rank, members);
    backward_ = make("backward", *device, rank, members);
  }
  if (replicas() > 1) {
    stage_replicas_ = make("replicas-" + std::to_string(position_.stage),
                           device != nullptr ? *device : control, position_.replica, replicas());
  }
  Greet(device != nullptr ? device->device() : control.device());
}

int Generation::RankOf(int worker) const {
  const auto found = std::find(workers_.begin(), workers_.end(), worker);
  if (found == workers_.end()) {
    throw TransportError("worker " + std::to_string(worker) + " is not in the plan");
  }
  return static_cast<int>(found - workers_.begin());
}

void Generation::Greet(at::Device device) {
  // NCCL connects a pair at its first message, which must not be a training step's.
  const auto greeting = [&] { return at::zeros({1}, device); };
  std::vector<Handle> handles;
  const int rank = RankAt(position_);
  if (!last_stage()) {
    handles.push_back(forward().Send(greeting(), rank + 1, kGreetingTag));
    handles.push_back(backward().Receive(greeting(), rank + 1, kGreetingTag));
  }
  if (!first_stage()) {
    handles.push_back(forward().Receive(greeting(), rank - 1, kGreetingTag));
    handles.push_back(backward().Send(greeting(), rank - 1, kGreetingTag));
  }
  for (auto& handle : handles) handle.Wait();
  if (!device.is_cpu()) return;
  std::vector<int> neighbours;
  if (!first_stage()) neighbours.push_back(rank - 1);
  if (!last_stage()) neighbours.push_back(rank + 1);
  sharing_ = PeersSharingMemory(world(), neighbours);
  if (stage_replicas_ != nullptr) replicas_share_memory_ = AllShareMemory(*stage_replicas_);
}

void Generation::Abort() {
  for (Group* group :
       {transfer_.get(), world_.get(), forward_.get(), backward_.get(), stage_replicas_.get()}) {
    if (group != nullptr) group->Abort();
  }
}

}  // namespace freezepipe::worker
