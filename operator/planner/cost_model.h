#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "freezepipe/v1alpha1/plan.pb.h"

namespace freezepipe::planner {

/// Stages as the end layer of each, exclusive and ascending; the last is the layer count.
using Partition = std::vector<int>;

/// A pipeline's stages, and how many data-parallel copies of it train.
struct Shape {
  Partition partition;
  int replicas = 1;

  int stages() const { return static_cast<int>(partition.size()); }
  int devices() const { return stages() * replicas; }
  bool operator==(const Shape&) const = default;
};

/// How the frozen layers of a stage run.
enum class FrozenWork { kForward, kCached };

/// What a step costs: measured layer times and how the job runs them.
struct CostModel {
  std::vector<v1alpha1::LayerProfile> layers;
  /// Layers [0, boundary) are frozen.
  int boundary = 0;
  FrozenWork frozen_work = FrozenWork::kForward;
  /// Of the global batch.
  int micro_batches = 1;
  /// Data-parallel copies, among which the micro-batches are shared out evenly.
  int replicas = 1;
  v1alpha1::Recompute::Mode recompute = v1alpha1::Recompute::Never;
  v1alpha1::PipelineSchedule::Type schedule = v1alpha1::PipelineSchedule::GPipe;
  /// Speed of a boundary transfer.
  double bytes_per_second = 2e9;
  /// Memory of a device; 0 for unlimited.
  double memory_bytes = 0;

  /// That one replica runs in a step.
  int micro_batches_each() const { return micro_batches / replicas; }
};

CostModel WithReplicas(CostModel model, int replicas);

/// Seconds of one micro-batch in the stage of layers [first, end): forward and backward of active
/// layers, recompute, frozen work, and the transfer of its input.
double StageSeconds(const CostModel& model, int first, int end);

/// The same of each stage.
std::vector<double> StageSeconds(const CostModel& model, const Partition& partition);

/// Bytes that the stage [first, end) of `stages`, counted from 0 as `stage`, needs: weights,
/// gradients and optimizer slots, activations of the micro-batches in flight.
double StageBytes(const CostModel& model, int first, int end, int stage, int stages);

/// Seconds of a step: fill and drain, sum_s t_s + (m - 1) max_s t_s with m micro-batches a replica,
/// and the sum of the active layers' gradients over the replicas, as a ring does it: 2 (R - 1) / R
/// times the bytes that a stage has on average.
double StepSeconds(const CostModel& model, const Partition& partition);

}  // namespace freezepipe::planner
