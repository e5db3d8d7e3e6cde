#include "cmd/freezepipe/view/event_line.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include "cmd/freezepipe/view/text.h"

namespace freezepipe::cli {
namespace {

using v1alpha1::JobEvent;
using v1alpha1::JobState;

std::string Because(const std::string& why) { return why.empty() ? "" : ": " + why; }

std::string FrozenLayers(const v1alpha1::FreezeLogEntry& entry, const JobView& view) {
  return absl::StrFormat("layers up to %s (%d of %d)", view.LayerName(entry.boundary() - 1),
                         entry.boundary(), view.facts.layer_names.size());
}

std::string Workers(const google::protobuf::RepeatedField<int>& workers) {
  return absl::StrCat(workers.size() == 1 ? "worker " : "workers ", absl::StrJoin(workers, ","));
}

std::string Stages(const v1alpha1::PlanMade& plan) {
  std::vector<std::string> stages;
  for (const auto& stage : plan.stages()) {
    const std::string last =
        stage.end_layer() - stage.first_layer() > 1 ? absl::StrCat("..", stage.last_name()) : "";
    stages.push_back(absl::StrCat(stage.first_name(), last, " on ", Workers(stage.workers())));
  }
  return absl::StrJoin(stages, " | ");
}

std::string Progress(const JobView& view) {
  const auto& progress = view.progress;
  std::string line = absl::StrFormat("step %d/%d  epoch %d/%d", view.step, view.facts.total_steps,
                                     view.Epoch(), view.facts.epochs);
  if (progress.step_seconds() > 0) {  // else nothing was measured yet
    absl::StrAppendFormat(&line, "  loss %.4f  %s samples/s  %s left", progress.loss(),
                          Thousands(progress.samples_per_second()), Clock(progress.seconds_left()));
  }
  return line;
}

std::optional<StyledLine> Describe(const JobEvent& event, const JobView& view, Detail detail) {
  switch (event.kind_case()) {
    case JobEvent::kStateChanged: {
      const auto& changed = event.state_changed();
      const bool bad =
          changed.state() == JobState::Failed || changed.state() == JobState::Recovering;
      return StyledLine{
          absl::StrCat(JobState::Type_Name(changed.state()), Because(changed.message())),
          bad ? Style::kWarning : Style::kDim};
    }
    case JobEvent::kPlanMade:
      return StyledLine{absl::StrFormat("plan %d, %s: %s", event.plan_made().generation(),
                                        Counted(event.plan_made().stages_size(), "stage"),
                                        Stages(event.plan_made())),
                        Style::kNote};
    case JobEvent::kFreezeChosen: {
      const auto& entry = event.freeze_chosen().entry();
      return StyledLine{
          absl::StrFormat("chosen at step %d, to freeze at step %d: %s%s", entry.chosen_at(),
                          entry.frozen_at(), FrozenLayers(entry, view), Because(entry.why())),
          Style::kNote};
    }
    case JobEvent::kLayersFrozen: {
      const auto& entry = event.layers_frozen().entry();
      return StyledLine{
          absl::StrFormat("frozen at step %d: %s", entry.frozen_at(), FrozenLayers(entry, view)),
          Style::kGood};
    }
    case JobEvent::kFreezeMissed: {
      const auto& entry = event.freeze_missed().entry();
      return StyledLine{absl::StrFormat("chosen too late, without effect: %s, to freeze at step %d",
                                        FrozenLayers(entry, view), entry.frozen_at()),
                        Style::kWarning};
    }
    case JobEvent::kRepartitionDone: {
      const auto& done = event.repartition_done();
      return StyledLine{
          absl::StrFormat("repartitioned at step %d: %s -> %s layers, stood still %.3f s, moved %s "
                          "(%s of it while training)%s",
                          done.step(), absl::StrJoin(done.from(), "+"),
                          absl::StrJoin(done.to(), "+"), done.stall_seconds(),
                          Bytes(done.bytes_moved()), Bytes(done.bytes_moved_early()),
                          Because(done.why())),
          Style::kGood};
    }
    case JobEvent::kRepartitionDropped:
      return StyledLine{absl::StrFormat("plan %d dropped, training went on%s",
                                        event.repartition_dropped().generation(),
                                        Because(event.repartition_dropped().why())),
                        Style::kWarning};
    case JobEvent::kWorkerReleased:
      return StyledLine{absl::StrFormat("released at step %d: worker %d gave its device back",
                                        event.step(), event.worker_released().worker()),
                        Style::kGood};
    case JobEvent::kWorkerStarted:
      return StyledLine{absl::StrFormat("worker %d started on %s", event.worker_started().worker(),
                                        event.worker_started().device()),
                        Style::kDim};
    case JobEvent::kWorkerLost:
      return StyledLine{absl::StrFormat("worker %d lost%s", event.worker_lost().worker(),
                                        Because(event.worker_lost().why())),
                        Style::kWarning};
    case JobEvent::kRestored: {
      const auto& restored = event.restored();
      return StyledLine{
          absl::StrFormat("going on from step %d (%s again), state from %s", restored.step(),
                          Counted(restored.steps_lost(), "step"), restored.source()),
          Style::kWarning};
    }
    case JobEvent::kCacheGivenUp: {
      const auto& cache = event.cache_given_up();
      return StyledLine{
          absl::StrFormat("worker %d computes the outputs of layers up to %s again: %.2g ms a "
                          "sample, to read them from the cache takes %.2g ms",
                          cache.worker(), view.LayerName(cache.level() - 1),
                          cache.computed_seconds() * 1000, cache.read_seconds() * 1000),
          Style::kDim};
    }
    case JobEvent::kEpochDone: {
      const auto& epoch = event.epoch_done();
      return StyledLine{
          absl::StrFormat("epoch %d/%d  test accuracy %s  test loss %.4f  training loss %.4f",
                          epoch.epoch(), view.facts.epochs, Percent(epoch.accuracy(), 2),
                          epoch.loss(), epoch.training_loss()),
          Style::kPlain};
    }
    case JobEvent::kCheckpointDone:
      return StyledLine{absl::StrFormat("checkpoint at step %d, %s", event.checkpoint_done().step(),
                                        Bytes(event.checkpoint_done().bytes())),
                        Style::kDim};
    case JobEvent::kWindowDone:
      if (detail == Detail::kEvents) return std::nullopt;
      return StyledLine{Progress(view), Style::kPlain};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<StyledLine> DescribeEvent(const JobEvent& event, const JobView& view, Detail detail) {
  std::optional<StyledLine> line = Describe(event, view, detail);
  if (line) line->text = absl::StrFormat("%7s  %s", Clock(event.time()), line->text);
  return line;
}

}  // namespace freezepipe::cli
