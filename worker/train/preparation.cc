#include "worker/train/preparation.h"

#include <algorithm>

#include "worker/checkpoint/checkpoint_files.h"

namespace freezepipe::worker {

std::shared_ptr<Preparation> Preparation::Begin(const v1alpha1::Prepare& order, Means means) {
  std::shared_ptr<Preparation> preparation(new Preparation(order, std::move(means)));
  // Detached: forming groups can't be interrupted, and an abandoned generation must not hold
  // training up.
  std::thread([preparation] { preparation->Run(); }).detach();
  return preparation;
}

void Preparation::Abandon() {
  abandoned_ = true;
  const std::lock_guard lock(mutex_);
  if (generation_ != nullptr) generation_->Abort();
}

std::vector<LayerMove> Preparation::Moves(const Generation& generation, bool early) const {
  std::vector<LayerMove> moves;
  for (const auto& source : order_.sources()) {
    if (source.source_case() != v1alpha1::LayerSource::kWorker) continue;
    const bool fetched_early = !order_.live() || source.layer() < order_.plan().boundary();
    if (fetched_early != early) continue;
    for (const int receiver : source.receivers()) {
      moves.push_back({.layer = source.layer(),
                       .from = generation.RankOf(source.worker()),
                       .to = generation.RankOf(receiver)});
    }
  }
  return moves;
}

void Preparation::Run() {
  /// Step of the checkpoint that is being read.
  std::optional<int> reading;
  try {
    auto generation =
        std::make_shared<Generation>(order_.plan(), means_.worker, *means_.control, means_.device);
    {
      const std::lock_guard lock(mutex_);
      generation_ = generation;
    }
    if (abandoned_) return;
    const auto moves = Moves(*generation, true);
    std::map<int, LayerState> held;
    const int rank = generation->RankOf(means_.worker);
    for (const auto& move : moves) {
      if (move.from == rank && !held.contains(move.layer)) {
        held[move.layer] = means_.held(move.layer);
      }
    }
    fetched_ = MoveLayers(generation->transfer(), moves, held, &bytes_fetched_);
    if (generation->member()) {
      for (const auto& source : order_.sources()) {
        if (source.source_case() != v1alpha1::LayerSource::kCheckpointStep) continue;
        if (source.layer() < generation->stage().first_layer() ||
            source.layer() >= generation->stage().end_layer()) {
          continue;
        }
        reading = source.checkpoint_step();
        fetched_[source.layer()] =
            ReadCheckpointLayer(means_.checkpoints, source.checkpoint_step(), source.layer());
      }
    }
  } catch (const std::exception& error) {
    if (!abandoned_) means_.failed(error.what(), reading);
    return;
  }
  if (abandoned_) return;
  ready_ = true;
  means_.prepared();
}

}  // namespace freezepipe::worker
