#include "operator/planner/stage_costs.h"

#include <algorithm>

namespace freezepipe::planner {
namespace {

/// Share of the micro-batches whose forward pass runs again in backward.
double RecomputedShare(const CostModel& model) {
  switch (model.recompute) {
    case v1alpha1::Recompute::Always:
      return 1;
    case v1alpha1::Recompute::ExceptLast:
      return (model.micro_batches_each() - 1.0) / model.micro_batches_each();
    default:
      return 0;
  }
}

/// Active: forward, backward, and forward again as far as it is recomputed. Frozen: one forward, or
/// nothing where the prefix's output is read from the cache.
double LayerSeconds(const CostModel& model, int layer) {
  const auto& profile = model.layers[layer];
  if (layer >= model.boundary) {
    const bool first = layer == model.boundary && profile.has_first_active_backward_seconds();
    return (1 + RecomputedShare(model)) * profile.forward_seconds() +
           (first ? profile.first_active_backward_seconds() : profile.backward_seconds());
  }
  return model.frozen_work == FrozenWork::kCached ? 0 : profile.forward_seconds();
}

/// Weights, and for active layers gradients as large as they and optimizer slots.
double LayerStateBytes(const CostModel& model, int layer) {
  const auto& profile = model.layers[layer];
  const double parameters = static_cast<double>(profile.parameter_bytes());
  if (layer < model.boundary) return parameters;
  return 2 * parameters + static_cast<double>(profile.optimizer_bytes());
}

/// A layer's input is the output of the one before it. Of the first layer's, the samples, the
/// profile says nothing.
double InputBytes(const CostModel& model, int layer) {
  return layer == 0 ? 0 : static_cast<double>(model.layers[layer - 1].output_bytes());
}

}  // namespace

StageCosts::StageCosts(const CostModel& model) : model_(model) {
  const int layers = static_cast<int>(model.layers.size());
  seconds_.assign(layers + 1, 0);
  state_bytes_.assign(layers + 1, 0);
  saved_bytes_.assign(layers + 1, 0);
  transfer_seconds_.assign(layers + 1, 0);
  const bool cached = model.frozen_work == FrozenWork::kCached;
  for (int i = 0; i < layers; ++i) {
    const bool active = i >= model.boundary;
    const double saved = static_cast<double>(model.layers[i].saved_bytes());
    seconds_[i + 1] = seconds_[i] + LayerSeconds(model, i);
    state_bytes_[i + 1] = state_bytes_[i] + LayerStateBytes(model, i);
    saved_bytes_[i + 1] = saved_bytes_[i] + (active ? saved : 0);
    // The first active layer's stage reads the cache itself, so nothing enters it or a frozen stage
    // before it.
    if (!cached || i > model.boundary) {
      transfer_seconds_[i] = InputBytes(model, i) / model.bytes_per_second;
    }
  }
}

int StageCosts::MicroBatchesInFlight(int stage, int stages) const {
  // GPipe starts no backward pass before the last forward pass; 1F1B as soon as the first
  // micro-batch is back.
  if (model_.schedule == v1alpha1::PipelineSchedule::GPipe) return model_.micro_batches_each();
  return std::min(model_.micro_batches_each(), stages - stage);
}

double StageCosts::Bytes(int first, int end, int in_flight) const {
  const double state = state_bytes_[end] - state_bytes_[first];
  const double saved = saved_bytes_[end] - saved_bytes_[first];
  const int first_active = std::max(first, model_.boundary);
  if (first_active >= end) return state;
  if (model_.recompute == v1alpha1::Recompute::Never) return state + saved * in_flight;
  // Kept of each micro-batch is what recomputation starts from; besides, one micro-batch is being
  // recomputed, and ExceptLast still holds the last one's activations while the others, earlier in
  // order, are.
  const bool last_kept = model_.recompute == v1alpha1::Recompute::ExceptLast && in_flight > 1;
  return state + InputBytes(model_, first_active) * in_flight + saved * (last_kept ? 2 : 1);
}

}  // namespace freezepipe::planner
