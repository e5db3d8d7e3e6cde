#include "operator/planner/assignment.h"

#include <limits>

namespace freezepipe::planner {

// The Hungarian method with potentials, O(rows^2 columns): rows join one by one, each along the
// shortest augmenting path. Index 0 of rows and columns stands for "none"; real ones count from 1.
std::vector<int> AssignRows(const std::vector<std::vector<int64_t>>& costs) {
  const int rows = static_cast<int>(costs.size());
  const int columns = rows == 0 ? 0 : static_cast<int>(costs[0].size());
  std::vector<int64_t> row_potential(rows + 1, 0);
  std::vector<int64_t> column_potential(columns + 1, 0);
  std::vector<int> row_of(columns + 1, 0);
  for (int row = 1; row <= rows; ++row) {
    std::vector<int64_t> distance(columns + 1, std::numeric_limits<int64_t>::max());
    std::vector<int> before(columns + 1, 0);
    std::vector<bool> visited(columns + 1, false);
    int column = 0;
    row_of[0] = row;
    do {
      visited[column] = true;
      const int from = row_of[column];
      int64_t step = std::numeric_limits<int64_t>::max();
      int nearest = 0;
      for (int c = 1; c <= columns; ++c) {
        if (visited[c]) continue;
        const int64_t reduced = costs[from - 1][c - 1] - row_potential[from] - column_potential[c];
        if (reduced < distance[c]) {
          distance[c] = reduced;
          before[c] = column;
        }
        if (distance[c] < step) {
          step = distance[c];
          nearest = c;
        }
      }
      for (int c = 0; c <= columns; ++c) {
        if (visited[c]) {
          row_potential[row_of[c]] += step;
          column_potential[c] -= step;
        } else if (c > 0) {
          distance[c] -= step;
        }
      }
      column = nearest;
    } while (row_of[column] != 0);
    for (; column != 0; column = before[column]) row_of[column] = row_of[before[column]];
  }
  std::vector<int> assigned(rows);
  for (int c = 1; c <= columns; ++c) {
    if (row_of[c] != 0) assigned[row_of[c] - 1] = c - 1;
  }
  return assigned;
}

}  // namespace freezepipe::planner
