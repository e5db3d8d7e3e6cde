#include "cmd/freezepipe/view/closing.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include <algorithm>

#include "cmd/freezepipe/view/text.h"

namespace freezepipe::cli {
namespace {

using v1alpha1::JobState;
using v1alpha1::Summary;

StyledLine Outcome(const Summary& summary) {
  const std::string message = summary.message().empty() ? "" : ": " + summary.message();
  const std::string where =
      absl::StrFormat("step %d of %d, after %s", summary.steps(), summary.total_steps(),
                      Duration(summary.wall_seconds()));
  switch (summary.state()) {
    case JobState::Succeeded:
      return {
          absl::StrFormat("done: test accuracy %s after %s (%s) in %s",
                          Percent(summary.accuracy(), 2), Counted(summary.epochs_size(), "epoch"),
                          Counted(summary.steps(), "step"), Duration(summary.wall_seconds())),
          Style::kTitle};
    case JobState::Stopped:
      return {absl::StrCat("stopped at ", where, message), Style::kTitle};
    default:
      return {absl::StrCat("failed at ", where, message), Style::kWarning};
  }
}

std::string Frozen(const Summary& summary, const std::vector<std::string>& layer_names) {
  int boundary = 0;
  std::vector<std::string> steps;
  for (const auto& entry : summary.freeze_log()) {
    // At the last step's end there was no step left to be frozen in.
    const bool frozen =
        entry.frozen_at() <= summary.steps() && entry.frozen_at() < summary.total_steps();
    if (!frozen) continue;
    boundary = std::max(boundary, entry.boundary());
    steps.push_back(absl::StrCat(entry.frozen_at()));
  }
  if (boundary == 0) return "frozen: nothing";
  const std::string last =
      boundary <= static_cast<int>(layer_names.size()) ? layer_names[boundary - 1] : "";
  return absl::StrFormat("frozen: %d of %s, up to %s, at %s %s", boundary,
                         Counted(static_cast<int>(layer_names.size()), "layer"), last,
                         steps.size() == 1 ? "step" : "steps", absl::StrJoin(steps, ", "));
}

std::string Freed(const Summary& summary) {
  const double held = summary.device_seconds();
  const double kept = summary.device_seconds_without_release();
  if (summary.releases_size() == 0) {
    return absl::StrFormat("freed: no device; %s device-seconds held", Thousands(held));
  }
  return absl::StrFormat(
      "freed: %d of %s; %s device-seconds held, %s less than the %s without release",
      summary.releases_size(), Counted(summary.workers(), "device"), Thousands(held),
      Percent(kept > 0 ? 1 - held / kept : 0, 1), Thousands(kept));
}

}  // namespace

std::vector<StyledLine> DescribeSummary(const Summary& summary,
                                        const std::vector<std::string>& layer_names,
                                        const std::string& output_directory) {
  std::vector<StyledLine> lines = {Outcome(summary),
                                   {Frozen(summary, layer_names), Style::kPlain},
                                   {Freed(summary), Style::kPlain}};
  if (summary.oversubscribed()) {
    lines.push_back({"more workers than cores shared this machine: times say nothing about speed",
                     Style::kDim});
  }
  const std::string weights =
      summary.weights().empty() ? "" : absl::StrCat(summary.weights(), " (weights), ");
  lines.push_back({absl::StrCat("files: ", output_directory, ": ", weights,
                                "summary.json, events.jsonl, checkpoints, logs"),
                   Style::kPlain});
  if (summary.state() == JobState::Stopped) {
    lines.push_back(
        {absl::StrFormat("to go on: freezepipe run %s/manifest.yaml --output %s --resume",
                         output_directory, output_directory),
         Style::kPlain});
  }
  return lines;
}

}  // namespace freezepipe::cli
