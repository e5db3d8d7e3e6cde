#pragma once

#include <string>
#include <vector>

#include "cmd/freezepipe/view/styled_line.h"
#include "freezepipe/v1alpha1/report.pb.h"

namespace freezepipe::cli {

/// The last lines a person reads: how the job ended, what froze, what was freed, where the files
/// are.
std::vector<StyledLine> DescribeSummary(const v1alpha1::Summary& summary,
                                        const std::vector<std::string>& layer_names,
                                        const std::string& output_directory);

}  // namespace freezepipe::cli
