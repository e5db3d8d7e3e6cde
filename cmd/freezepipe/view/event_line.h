#pragma once

#include <optional>

#include "cmd/freezepipe/view/job_view.h"
#include "cmd/freezepipe/view/styled_line.h"

namespace freezepipe::cli {

/// Which events get a line.
enum class Detail {
  /// What happens now and then: epochs, freezes, repartitions, releases, losses.
  kEvents,
  /// Also how training goes, once a statistics window.
  kEventsAndWindows,
};

/// One event as a line for people; `view` has already applied it. None for events that say nothing
/// to them.
std::optional<StyledLine> DescribeEvent(const v1alpha1::JobEvent& event, const JobView& view,
                                        Detail detail);

}  // namespace freezepipe::cli
