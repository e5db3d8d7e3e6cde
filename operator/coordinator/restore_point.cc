#include "operator/coordinator/restore_point.h"

namespace freezepipe::coordinator {
namespace {

std::optional<int> HolderOf(const std::map<int, Holdings>& holdings, int layer, int step) {
  for (const auto& [worker, held] : holdings) {
    const auto copies = held.find(layer);
    if (copies != held.end() && copies->second.contains(step)) return worker;
  }
  return std::nullopt;
}

/// nullopt when a layer has no copy of this step.
std::optional<RestorePoint> PointAt(int step, int layers, const std::map<int, Holdings>& holdings,
                                    bool checkpointed, bool use_memory) {
  RestorePoint point{.step = step, .sources = {}, .origin = "PeerMemory"};
  for (int layer = 0; layer < layers; ++layer) {
    v1alpha1::LayerSource source;
    source.set_layer(layer);
    const auto holder = use_memory ? HolderOf(holdings, layer, step) : std::nullopt;
    if (holder) {
      source.set_worker(*holder);
    } else if (checkpointed) {
      source.set_checkpoint_step(step);
      point.origin = "Checkpoint";
    } else {
      return std::nullopt;
    }
    point.sources.push_back(source);
  }
  return point;
}

RestorePoint FreshStart(int layers) {
  RestorePoint point{.step = 0, .sources = {}, .origin = "Initial"};
  for (int layer = 0; layer < layers; ++layer) {
    v1alpha1::LayerSource source;
    source.set_layer(layer);
    source.set_initial(true);
    point.sources.push_back(source);
  }
  return point;
}

}  // namespace

Holdings MakeHoldings(const google::protobuf::RepeatedPtrField<v1alpha1::LayerCopy>& copies) {
  Holdings holdings;
  for (const auto& copy : copies) {
    holdings[copy.layer()].insert(copy.steps().begin(), copy.steps().end());
  }
  return holdings;
}

RestorePoint ChooseRestorePoint(int layers, const std::map<int, Holdings>& holdings,
                                std::optional<int> checkpoint_step,
                                std::optional<int> memory_limit) {
  std::set<int> steps;
  for (const auto& [worker, held] : holdings) {
    for (const auto& [layer, copies] : held) steps.insert(copies.begin(), copies.end());
  }
  if (checkpoint_step) steps.insert(*checkpoint_step);

  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const bool use_memory = !memory_limit || *step <= *memory_limit;
    const bool checkpointed = checkpoint_step == *step;
    if (auto point = PointAt(*step, layers, holdings, checkpointed, use_memory)) return *point;
  }
  return FreshStart(layers);
}

}  // namespace freezepipe::coordinator
