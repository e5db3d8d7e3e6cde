#include "cmd/freezepipe/view/job_view.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace freezepipe::cli {

using v1alpha1::JobEvent;

int JobView::Boundary() const {
  int boundary = 0;
  for (const auto& entry : frozen) boundary = std::max(boundary, entry.boundary());
  return boundary;
}

int JobView::Epoch() const {
  if (facts.steps_per_epoch <= 0) return 1;
  return std::clamp(step / facts.steps_per_epoch + 1, 1, std::max(facts.epochs, 1));
}

std::string JobView::LayerName(int layer) const {
  if (layer < 0 || layer >= static_cast<int>(facts.layer_names.size())) return absl::StrCat(layer);
  return facts.layer_names[layer];
}

void JobView::Apply(const JobEvent& event) {
  step = event.step();
  switch (event.kind_case()) {
    case JobEvent::kStateChanged:
      state = event.state_changed().state();
      break;
    case JobEvent::kPlanMade:
      generation = event.plan_made().generation();
      stages.clear();
      for (const auto& layout : event.plan_made().stages()) stages.push_back({layout, {}});
      break;
    case JobEvent::kLayersFrozen:
      frozen.push_back(event.layers_frozen().entry());
      break;
    case JobEvent::kRestored:
      // Layers that froze after this step are active again, until their logged step comes.
      std::erase_if(frozen, [&](const v1alpha1::FreezeLogEntry& entry) {
        return entry.frozen_at() > event.restored().step();
      });
      break;
    case JobEvent::kWorkerReleased:
      released.push_back(event.worker_released().worker());
      break;
    case JobEvent::kProgress:
      progress = event.progress();
      break;
    case JobEvent::kEpochDone:
      accuracy = event.epoch_done().accuracy();
      break;
    case JobEvent::kStageTimes: {
      const v1alpha1::StageTimes& times = event.stage_times();
      const bool current = times.generation() == generation && times.stage() >= 0 &&
                           times.stage() < static_cast<int>(stages.size());
      if (!current || times.seconds() <= 0) break;
      const double computing =
          times.forward_seconds() + times.backward_seconds() + times.optimizer_seconds();
      stages[times.stage()].busy = std::clamp(computing / times.seconds(), 0.0, 1.0);
      break;
    }
    default:
      break;
  }
}

}  // namespace freezepipe::cli
