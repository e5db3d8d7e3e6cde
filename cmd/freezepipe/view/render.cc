#include "cmd/freezepipe/view/render.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include <algorithm>

#include "cmd/freezepipe/view/text.h"

namespace freezepipe::cli {
namespace {

/// Columns the bar takes at most, brackets included.
constexpr int kLongestBar = 50;
constexpr int kShortestBar = 10;

std::string Bar(double share, int columns) {
  const int inside = columns - 2;
  const int done = std::clamp(static_cast<int>(share * inside), 0, inside);
  std::string bar(done, '=');
  if (done > 0 && done < inside) bar.back() = '>';
  bar.resize(inside, ' ');
  return absl::StrCat("[", bar, "]");
}

/// As many of the parts as fit, from the first on; the first alone is cut where even it doesn't.
std::string JoinFitting(const std::vector<std::string>& parts, const std::string& separator,
                        int width) {
  std::string line = parts.front().substr(0, std::max(width, 0));
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t longer = line.size() + separator.size() + parts[i].size();
    if (longer > static_cast<size_t>(std::max(width, 0))) break;
    absl::StrAppend(&line, separator, parts[i]);
  }
  return line;
}

std::string ProgressLine(const JobView& view, int width) {
  const int total = std::max(view.facts.total_steps, 1);
  const double share = std::clamp(static_cast<double>(view.step) / total, 0.0, 1.0);
  std::vector<std::string> parts = {
      absl::StrCat(" ", Percent(share, 0)),
      absl::StrFormat("step %d/%d", view.step, view.facts.total_steps),
      absl::StrFormat("epoch %d/%d", view.Epoch(), view.facts.epochs)};
  if (view.progress.seconds_left() > 0 && view.step < total) {
    parts.push_back(absl::StrCat(Clock(view.progress.seconds_left()), " left"));
  }
  const std::string rest = JoinFitting(parts, "  ", width - kShortestBar);
  const int columns = std::clamp(width - static_cast<int>(rest.size()), kShortestBar, kLongestBar);
  return Bar(share, columns) + rest;
}

std::string NumbersLine(const JobView& view, int width) {
  std::vector<std::string> numbers;
  if (view.progress.step_seconds() > 0) {
    numbers.push_back(absl::StrFormat("loss %.4f", view.progress.loss()));
    numbers.push_back(absl::StrCat(Thousands(view.progress.samples_per_second()), " samples/s"));
  }
  if (view.accuracy) numbers.push_back(absl::StrCat("test accuracy ", Percent(*view.accuracy, 2)));
  if (!view.released.empty()) {
    numbers.push_back(
        absl::StrCat(Counted(static_cast<int>(view.released.size()), "device"), " given back"));
  }
  return numbers.empty() ? "" : JoinFitting(numbers, "   ", width);
}

std::string LayersOf(const v1alpha1::StageLayout& layout) {
  if (layout.end_layer() - layout.first_layer() <= 1) return layout.first_name();
  return absl::StrCat(layout.first_name(), "..", layout.last_name());
}

StyledLine StageLine(int number, const StageView& stage, int boundary, size_t name_columns,
                     int width) {
  const auto& layout = stage.layout;
  const int layers = layout.end_layer() - layout.first_layer();
  const int frozen = std::clamp(boundary - layout.first_layer(), 0, layers);
  const std::vector<std::string> parts = {
      absl::StrFormat("  stage %-2d %-*s", number, static_cast<int>(name_columns),
                      LayersOf(layout)),
      absl::StrFormat("%3d frozen", frozen), absl::StrFormat("%2d active", layers - frozen),
      absl::StrFormat("busy %5s", stage.busy ? Percent(*stage.busy, 0) : "-"),
      absl::StrCat(layout.workers_size() == 1 ? "worker " : "workers ",
                   absl::StrJoin(layout.workers(), ","))};
  return {JoinFitting(parts, "  ", width), frozen == layers ? Style::kDim : Style::kPlain};
}

}  // namespace

std::vector<StyledLine> RenderJob(const JobView& view, int width) {
  std::vector<StyledLine> lines;
  lines.push_back(
      {JoinFitting({view.facts.job, v1alpha1::JobState::Type_Name(view.state)}, "  ", width),
       Style::kTitle});
  lines.push_back({ProgressLine(view, width), Style::kBar});
  if (std::string numbers = NumbersLine(view, width); !numbers.empty()) {
    lines.push_back({numbers, Style::kPlain});
  }

  size_t name_columns = 0;
  for (const StageView& stage : view.stages) {
    name_columns = std::max(name_columns, LayersOf(stage.layout).size());
  }
  for (size_t i = 0; i < view.stages.size(); ++i) {
    lines.push_back(
        StageLine(static_cast<int>(i), view.stages[i], view.Boundary(), name_columns, width));
  }
  for (StyledLine& line : lines)
    line.text.resize(std::min<size_t>(line.text.size(), std::max(width, 0)));
  return lines;
}

std::string ToTerminal(const StyledLine& line, int width, bool color) {
  const std::string text = line.text.substr(0, std::max(width, 0));
  if (!color) return text;
  const char* code = "";
  switch (line.style) {
    case Style::kPlain:
      return text;
    case Style::kTitle:
      code = "1";
      break;
    case Style::kBar:
      code = "36";
      break;
    case Style::kDim:
      code = "2";
      break;
    case Style::kNote:
      code = "34";
      break;
    case Style::kGood:
      code = "32";
      break;
    case Style::kWarning:
      code = "33";
      break;
  }
  return absl::StrCat("\x1b[", code, "m", text, "\x1b[0m");
}

}  // namespace freezepipe::cli
