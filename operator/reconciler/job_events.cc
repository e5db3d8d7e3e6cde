#include "operator/reconciler/job_events.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include "operator/reconciler/conditions.h"

namespace freezepipe::reconciler {
namespace {

using kube::EventText;
using v1alpha1::JobEvent;
using v1alpha1::JobState;

EventText Normal(const char* reason, const char* action, std::string note) {
  return {EventText::Type::kNormal, reason, action, std::move(note)};
}

EventText Warning(const char* reason, const char* action, std::string note) {
  return {EventText::Type::kWarning, reason, action, std::move(note)};
}

std::optional<EventText> OfState(const v1alpha1::StateChanged& changed) {
  switch (changed.state()) {
    case JobState::Starting:
      return Normal("Starting", "Start", "workers come up and measure the network");
    case JobState::Running:
      return Normal("Running", "Train", "training");
    case JobState::Recovering:
      return Warning("Recovering", "Restore", changed.message());
    case JobState::Stopped:
      return Normal("Stopped", "Suspend", changed.message());
    case JobState::Succeeded:
      return Normal("Succeeded", "Finish", "trained to the end");
    case JobState::Failed:
      return WarningOf(changed.message(), "Failed", "Finish");
    default:
      return std::nullopt;
  }
}

std::string SourceOf(const v1alpha1::Restored& restored) {
  if (restored.source() == "Initial") return "the start: no copy of the state was left";
  return restored.source() == "Checkpoint" ? "the newest checkpoint" : "the workers' memory";
}

}  // namespace

EventText WarningOf(std::string_view why, std::string_view otherwise, const char* action) {
  const Explanation explanation = Explain(why, otherwise);
  return {EventText::Type::kWarning, std::string(explanation.reason), action,
          std::string(explanation.message)};
}

EventText PodRefused(int worker, const absl::Status& error) {
  return Warning("PodRefused", "Launch",
                 absl::StrCat("worker ", worker, ": ", std::string(error.message())));
}

std::optional<EventText> ToEventText(const JobEvent& event) {
  switch (event.kind_case()) {
    case JobEvent::kStateChanged:
      return OfState(event.state_changed());
    case JobEvent::kWorkerStarted: {
      const auto& started = event.worker_started();
      return Normal("WorkerStarted", "Start",
                    absl::StrCat("worker ", started.worker(), " trains on ", started.device()));
    }
    case JobEvent::kLayersFrozen: {
      const auto& entry = event.layers_frozen().entry();
      return Normal(
          "LayersFrozen", "Freeze",
          absl::StrCat("layers [0, ", entry.boundary(), ") are frozen from step ",
                       entry.frozen_at(), " on", entry.why().empty() ? "" : ": ", entry.why()));
    }
    case JobEvent::kRepartitionDone: {
      const auto& done = event.repartition_done();
      return Normal("Repartitioned", "Repartition",
                    absl::StrFormat("generation %d from step %d on: layers %s instead of %s; "
                                    "training stood still for %.0f ms",
                                    done.generation(), done.step(), absl::StrJoin(done.to(), "+"),
                                    absl::StrJoin(done.from(), "+"), done.stall_seconds() * 1000));
    }
    case JobEvent::kRepartitionDropped:
      return Warning("RepartitionDropped", "Repartition", event.repartition_dropped().why());
    case JobEvent::kWorkerReleased:
      return Normal("Released", "Release",
                    absl::StrCat("worker ", event.worker_released().worker(),
                                 " holds no layer any more: its device is free"));
    case JobEvent::kWorkerLost:
      return Warning(
          "WorkerLost", "Restore",
          absl::StrCat("worker ", event.worker_lost().worker(), ": ", event.worker_lost().why()));
    case JobEvent::kRestored: {
      const auto& restored = event.restored();
      const bool over = restored.source() == "Initial";
      const std::string note =
          absl::StrCat("training goes on at step ", restored.step(), ", ", restored.steps_lost(),
                       " steps are computed again; state from ", SourceOf(restored));
      return over ? Warning("StartedOver", "Restore", note) : Normal("Restored", "Restore", note);
    }
    case JobEvent::kFreezeMissed:
      return Normal("FreezeMissed", "Freeze", "a choice came too late to freeze any step");
    case JobEvent::kCacheGivenUp:
      return Normal("CacheGivenUp", "Cache",
                    absl::StrCat("worker ", event.cache_given_up().worker(),
                                 " computes outputs of layers [0, ", event.cache_given_up().level(),
                                 ") again: to read them from the cache takes longer"));
    default:
      return std::nullopt;
  }
}

}  // namespace freezepipe::reconciler
