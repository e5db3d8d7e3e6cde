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

std::string ProgressLine(const JobView& view, int width) {
  const int total = std::max(view.facts.total_steps, 1);
  const double share = std::clamp(static_cast<double>(view.step) / total, 0.0, 1.0);
  std::string rest = absl::StrFormat(" %s  step %d/%d  epoch %d/%d", Percent(share, 0), view.step,
                                     view.facts.total_steps, view.Epoch(), view.facts.epochs);
  if (view.progress.seconds_left() > 0) {
    absl::StrAppend(&rest, "  ", Clock(view.progress.seconds_left()), " left");
  }
  const int columns = std::clamp(width - static_cast<int>(rest.size()), kShortestBar, kLongestBar);
  return Bar(share, columns) + rest;
}

std::string NumbersLine(const JobView& view) {
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
  return absl::StrJoin(numbers, "   ");
}

std::string LayersOf(const v1alpha1::StageLayout& layout) {
  if (layout.end_layer() - layout.first_layer() <= 1) return layout.first_name();
  return absl::StrCat(layout.first_name(), "..", layout.last_name());
}

StyledLine StageLine(int number, const StageView& stage, int boundary, size_t name_columns) {
  const auto& layout = stage.layout;
  const int layers = layout.end_layer() - layout.first_layer();
  const int frozen = std::clamp(boundary - layout.first_layer(), 0, layers);
  const std::string busy = stage.busy ? Percent(*stage.busy, 0) : "-";
  return {absl::StrFormat("  stage %-2d %-*s  %3d frozen %3d active  busy %5s  worker%s %s", number,
                          static_cast<int>(name_columns), LayersOf(layout), frozen, layers - frozen,
                          busy, layout.workers_size() == 1 ? "" : "s",
                          absl::StrJoin(layout.workers(), ",")),
          frozen == layers ? Style::kDim : Style::kPlain};
}

}  // namespace

std::vector<StyledLine> RenderJob(const JobView& view, int width) {
  std::vector<StyledLine> lines;
  lines.push_back({absl::StrCat(view.facts.job, "  ", v1alpha1::JobState::Type_Name(view.state)),
                   Style::kTitle});
  lines.push_back({ProgressLine(view, width), Style::kBar});
  if (std::string numbers = NumbersLine(view); !numbers.empty())
    lines.push_back({numbers, Style::kPlain});

  size_t name_columns = 0;
  for (const StageView& stage : view.stages) {
    name_columns = std::max(name_columns, LayersOf(stage.layout).size());
  }
  for (size_t i = 0; i < view.stages.size(); ++i) {
    lines.push_back(StageLine(static_cast<int>(i), view.stages[i], view.Boundary(), name_columns));
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
