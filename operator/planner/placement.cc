#include "operator/planner/placement.h"

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>
#include <set>

#include "operator/planner/assignment.h"

namespace freezepipe::planner {
namespace {

/// What moves when a worker takes a layer on: its parameters, and while it learns its optimizer
/// slots.
int64_t LayerBytes(const CostModel& model, int layer) {
  const auto& profile = model.layers[layer];
  return profile.parameter_bytes() + (layer >= model.boundary ? profile.optimizer_bytes() : 0);
}

/// Bytes that `worker` lacks of the layers [first, end).
int64_t BytesToReceive(const CostModel& model, const HeldWorker& worker, int first, int end) {
  int64_t bytes = 0;
  for (int layer = first; layer < end; ++layer) {
    if (!std::binary_search(worker.layers.begin(), worker.layers.end(), layer)) {
      bytes += LayerBytes(model, layer);
    }
  }
  return bytes;
}

/// How good an assignment is among those that move equally few bytes; more is better, the first
/// difference decides.
struct Neatness {
  int neighbours_on_one_node = 0;
  int empty_nodes = 0;
  /// Grows while use gathers on fewer nodes, so that single swaps can lead to an empty one.
  int gathered = 0;

  auto operator<=>(const Neatness&) const = default;
};

/// Up to so many held workers every assignment is tried.
constexpr size_t kEnumerated = 7;

/// The places of a plan, place = replica * stages + stage, and who may take them.
class Placer {
 public:
  Placer(const CostModel& model, const Partition& partition, int replicas,
         std::vector<HeldWorker> held)
      : stages_(static_cast<int>(partition.size())), held_(std::move(held)) {
    // Equal columns are taken in order, which puts neighbours on one node from the start.
    std::sort(held_.begin(), held_.end(), [](const HeldWorker& a, const HeldWorker& b) {
      return std::tie(a.node, a.worker) < std::tie(b.node, b.worker);
    });
    std::map<std::string, int> nodes;
    for (const auto& worker : held_) {
      node_.push_back(nodes.try_emplace(worker.node, nodes.size()).first->second);
    }
    nodes_ = static_cast<int>(nodes.size());
    int first = 0;
    for (int end : partition) {
      std::vector<int64_t> row;
      for (const auto& worker : held_) row.push_back(BytesToReceive(model, worker, first, end));
      costs_.push_back(std::move(row));
      first = end;
    }
    for (int place = stages_; place < stages_ * replicas; ++place) {
      costs_.push_back(costs_[place - stages_]);
    }
  }

  std::vector<std::vector<int>> Run() {
    taken_by_ = AssignRows(costs_);
    if (nodes_ > 1) {
      if (held_.size() <= kEnumerated) {
        TidyByEnumeration();
      } else {
        TidyBySwaps();
      }
    }
    std::vector<std::vector<int>> workers(stages_);
    for (size_t place = 0; place < taken_by_.size(); ++place) {
      workers[place % stages_].push_back(held_[taken_by_[place]].worker);
    }
    return workers;
  }

 private:
  /// The neatest of all assignments that move the fewest bytes.
  void TidyByEnumeration() {
    int64_t bytes = 0;
    for (size_t place = 0; place < costs_.size(); ++place) bytes += costs_[place][taken_by_[place]];
    std::vector<int> best = taken_by_;
    Neatness neatest = Judge();
    std::vector<bool> busy(held_.size(), false);
    const auto extend = [&](auto& self, size_t place, int64_t bytes_left) -> void {
      if (place == costs_.size()) {
        const Neatness now = Judge();
        if (now > neatest) {
          neatest = now;
          best = taken_by_;
        }
        return;
      }
      for (size_t w = 0; w < held_.size(); ++w) {
        if (busy[w] || costs_[place][w] > bytes_left) continue;
        busy[w] = true;
        taken_by_[place] = static_cast<int>(w);
        self(self, place + 1, bytes_left - costs_[place][w]);
        busy[w] = false;
      }
    };
    extend(extend, 0, bytes);
    taken_by_ = best;
  }

  /// Swaps that move no more bytes, as long as one makes the assignment neater: close to the
  /// neatest.
  void TidyBySwaps() {
    const int places = static_cast<int>(taken_by_.size());
    const int workers = static_cast<int>(held_.size());
    Neatness best = Judge();
    for (bool improved = true; improved;) {
      improved = false;
      // Workers without a place stand behind those with one.
      std::vector<int> order = taken_by_;
      const std::set<int> busy(order.begin(), order.end());
      for (int w = 0; w < workers; ++w) {
        if (!busy.contains(w)) order.push_back(w);
      }
      for (int a = 0; a < places; ++a) {
        for (int b = a + 1; b < workers; ++b) {
          if (node_[order[a]] == node_[order[b]] || !SwapIsFree(a, b, order)) continue;
          std::swap(order[a], order[b]);
          taken_by_.assign(order.begin(), order.begin() + places);
          const Neatness now = Judge();
          if (now > best) {
            best = now;
            improved = true;
          } else {
            std::swap(order[a], order[b]);
          }
        }
      }
      taken_by_.assign(order.begin(), order.begin() + places);
    }
  }

  bool SwapIsFree(int a, int b, const std::vector<int>& order) const {
    const bool both = b < static_cast<int>(costs_.size());
    const int64_t before = costs_[a][order[a]] + (both ? costs_[b][order[b]] : 0);
    const int64_t after = costs_[a][order[b]] + (both ? costs_[b][order[a]] : 0);
    return after <= before;
  }

  Neatness Judge() const {
    Neatness neatness;
    std::vector<int> used(nodes_, 0);
    for (size_t place = 0; place < taken_by_.size(); ++place) {
      const int node = node_[taken_by_[place]];
      ++used[node];
      const bool first_stage = place % stages_ == 0;
      if (!first_stage && node_[taken_by_[place - 1]] == node) ++neatness.neighbours_on_one_node;
    }
    neatness.empty_nodes = static_cast<int>(std::count(used.begin(), used.end(), 0));
    neatness.gathered = std::inner_product(used.begin(), used.end(), used.begin(), 0);
    return neatness;
  }

  const int stages_;
  std::vector<HeldWorker> held_;
  std::vector<int> node_;  // of each held worker
  int nodes_ = 0;
  std::vector<std::vector<int64_t>> costs_;  // bytes to receive, by place and held worker
  std::vector<int> taken_by_;                // held worker of each place
};

}  // namespace

std::vector<std::vector<int>> Place(const CostModel& model, const Partition& partition,
                                    int replicas, const std::vector<HeldWorker>& held) {
  return Placer(model, partition, replicas, held).Run();
}

}  // namespace freezepipe::planner
