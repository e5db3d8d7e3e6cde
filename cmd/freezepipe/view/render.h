#pragma once

#include <string>
#include <vector>

#include "cmd/freezepipe/view/job_view.h"
#include "cmd/freezepipe/view/styled_line.h"

namespace freezepipe::cli {

/// The block below the event lines: progress bar, numbers, a line for each stage. No line is longer
/// than `width` columns.
std::vector<StyledLine> RenderJob(const JobView& view, int width);

/// The line cut to `width` columns, with its style as terminal codes where `color` is set.
std::string ToTerminal(const StyledLine& line, int width, bool color);

}  // namespace freezepipe::cli
