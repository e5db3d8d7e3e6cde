#pragma once

#include <memory>
#include <set>
#include <vector>

#include "freezepipe/v1alpha1/plan.pb.h"
#include "worker/transport/backend.h"
#include "worker/transport/group.h"

namespace freezepipe::worker {

/// Where a worker stands in a plan.
struct Position {
  int stage = 0;
  int replica = 0;
};

/// One plan's process groups, as one of its workers (or one that leaves by it) sees them. Ready
/// when constructed: every pair that will talk has carried a message.
class Generation {
 public:
  /// Blocks until all workers of plan.addresses take part. `device` makes the groups of tensors
  /// that live on a device other than the CPU, null if there is none. Throws TransportError.
  Generation(v1alpha1::Plan plan, int worker, BackendFactory& control, BackendFactory* device);

  const v1alpha1::Plan& plan() const { return plan_; }
  int number() const { return plan_.generation(); }
  int stages() const { return plan_.stages_size(); }
  int replicas() const { return plan_.replicas(); }
  /// False for a worker that leaves by this plan; the members below but transfer() are then absent.
  bool member() const { return world_ != nullptr; }
  Position position() const { return position_; }
  const v1alpha1::Stage& stage() const { return plan_.stages(position_.stage); }
  bool first_stage() const { return position_.stage == 0; }
  bool last_stage() const { return position_.stage == stages() - 1; }
  /// The worker that writes every step's header.
  bool lead() const { return member() && last_stage() && position_.replica == 0; }
  int lead_rank() const { return RankAt({stages() - 1, 0}); }
  int RankAt(Position position) const { return position.replica * stages() + position.stage; }
  /// Rank in transfer(); members of the plan have the same in world().
  int RankOf(int worker) const;

  /// All workers of the plan: headers, shapes, small reductions; CPU tensors.
  Group& world() const { return *world_; }
  /// The plan's workers, then those that leave by it; CPU tensors.
  Group& transfer() const { return *transfer_; }
  /// Activations downstream and gradients upstream, on the training device.
  Group& forward() const { return forward_ ? *forward_ : *world_; }
  Group& backward() const { return backward_ ? *backward_ : *world_; }
  /// Whether CPU tensors can go to that neighbouring stage's worker (a rank of world()) through
  /// memory instead.
  bool shares_memory_with(int rank) const { return sharing_.contains(rank); }
  /// This stage's replicas, ranks as replica numbers, on the training device; null if there is one.
  Group* stage_replicas() const { return stage_replicas_.get(); }
  /// Whether all of them can sum CPU tensors through memory instead.
  bool replicas_share_memory() const { return replicas_share_memory_; }

  /// Makes every wait in these groups throw. From any thread.
  void Abort();

 private:
  void Greet(at::Device device);

  const v1alpha1::Plan plan_;
  Position position_;
  std::vector<int> workers_;  // by transfer rank
  std::unique_ptr<Group> transfer_, world_, forward_, backward_, stage_replicas_;
  std::set<int> sharing_;
  bool replicas_share_memory_ = false;
};

}  // namespace freezepipe::worker
