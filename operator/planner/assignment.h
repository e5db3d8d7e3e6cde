#pragma once

#include <cstdint>
#include <vector>

namespace freezepipe::planner {

/// A column of its own for every row, so that the sum of costs[row][column] is least. Rows need at
/// least as many columns. Among equals, deterministic, and equal columns are taken in order.
std::vector<int> AssignRows(const std::vector<std::vector<int64_t>>& costs);

}  // namespace freezepipe::planner
