#include "operator/planner/partitioner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

#include "operator/planner/stage_costs.h"

namespace freezepipe::planner {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A partition and the two quantities that decide: the step takes transfer + (M - 1) longest plus
/// the work of all layers, which no cut changes.
struct Split {
  Partition partition;
  double transfer = kInfinity;
  double longest = kInfinity;
};

std::vector<int> PrefixMaxima(std::vector<int> values) {
  for (size_t i = 1; i < values.size(); ++i) values[i] = std::max(values[i], values[i - 1]);
  return values;
}

/// Finds the cheapest cuts under a bound on the longest stage, by dynamic programming over
/// suffixes:
///
///   cheapest[s][f] = min over e of transfer(e) + cheapest[s + 1][e],  [f, e) allowed as stage s
///
/// Which ends e are allowed for f is a range (f, furthest(f)], because seconds and bytes grow with
/// e, so each row is a range minimum whose left end moves by one: a stack of prefix minima answers
/// it in constant time. Layers whose input is too dear to be sent in any split worth having are no
/// places to cut; f and e count places.
class BoundedSplitter {
 public:
  BoundedSplitter(const CostModel& model, const StageCosts& costs, int stages)
      : costs_(costs), layers_(costs.layers()), stages_(stages) {
    if (model.memory_bytes > 0) LimitByMemory(model.memory_bytes);
    std::vector<double> transfers;
    for (int f = 1; f < layers_; ++f) transfers.push_back(costs_.TransferSeconds(f));
    std::sort(transfers.begin(), transfers.end());
    for (int i = 0; i + 2 < stages_; ++i) other_cuts_ += transfers[i];
    const int cells = layers_ + 1;
    place_before_.resize(cells);
    furthest_.resize(cells);
    furthest_up_to_.resize(cells);
    latest_start_.resize(stages_ + 1);
    cheapest_.resize(cells);
    next_.resize(cells);
    best_end_.resize(static_cast<size_t>(stages_) * cells);
    stack_.resize(cells);
  }

  /// The split with the least transfer among those whose stages take at most `bound`; of equals,
  /// the one that cuts later layers first. It may miss splits that transfer more than
  /// `most_transfer`. Its partition is empty when there is none.
  Split Solve(double bound, double most_transfer) {
    FindPlaces(most_transfer);
    FindFurthest(bound);
    if (!FindLatestStarts()) return {};
    std::fill(next_.begin(), next_.end(), kInfinity);
    next_[last_] = 0;
    int earliest = last_;
    for (int stage = stages_ - 1; stage >= 0; --stage) {
      earliest = SolveStage(stage, earliest);
      if (earliest < 0) return {};
      std::swap(cheapest_, next_);
    }
    return Trace();
  }

  /// Least stage time above the bound of the last Solve: no bound in between allows anything else.
  double NextBound() const {
    double next = kInfinity;
    for (int f = 0; f < last_; ++f) {
      if (furthest_[f] < last_) next = std::min(next, Seconds(f, furthest_[f] + 1));
    }
    return next;
  }

 private:
  double Seconds(int first, int end) const { return costs_.Seconds(places_[first], places_[end]); }

  void LimitByMemory(double memory_bytes) {
    memory_end_.resize(stages_);
    memory_end_up_to_.resize(stages_);
    for (int s = 0; s < stages_; ++s) {
      const int in_flight = costs_.MicroBatchesInFlight(s, stages_);
      if (s > 0 && in_flight == costs_.MicroBatchesInFlight(s - 1, stages_)) {
        memory_end_[s] = memory_end_[s - 1];
        memory_end_up_to_[s] = memory_end_up_to_[s - 1];
        continue;
      }
      memory_end_[s].resize(layers_);
      for (int f = 0; f < layers_; ++f) {
        int fits = f;
        for (int beyond = layers_ + 1; beyond - fits > 1;) {
          const int middle = (fits + beyond) / 2;
          (costs_.Bytes(f, middle, in_flight) <= memory_bytes ? fits : beyond) = middle;
        }
        memory_end_[s][f] = fits;
      }
      memory_end_up_to_[s] = PrefixMaxima(memory_end_[s]);
    }
  }

  void FindPlaces(double most_transfer) {
    constexpr double kRounding = 1e-9;
    const double dearest = most_transfer * (1 + kRounding) - other_cuts_;
    places_.assign(1, 0);
    place_before_[0] = 0;
    for (int f = 1; f <= layers_; ++f) {
      if (f == layers_ || costs_.TransferSeconds(f) <= dearest) places_.push_back(f);
      place_before_[f] = static_cast<int>(places_.size()) - 1;
    }
    last_ = static_cast<int>(places_.size()) - 1;
  }

  void FindFurthest(double bound) {
    int end = 0;
    for (int f = 0; f < last_; ++f) {
      end = std::max(end, f);
      while (end < last_ && Seconds(f, end + 1) <= bound) ++end;
      while (end > f && Seconds(f, end) > bound) --end;
      furthest_[f] = end;
      furthest_up_to_[f] = f == 0 ? end : std::max(end, furthest_up_to_[f - 1]);
    }
  }

  int Furthest(int stage, int first) const {
    if (memory_end_.empty()) return furthest_[first];
    return std::min(furthest_[first], place_before_[memory_end_[stage][places_[first]]]);
  }

  /// No stage `stage` that begins at or before `first` ends later.
  int FurthestUpTo(int stage, int first) const {
    if (memory_end_.empty()) return furthest_up_to_[first];
    return std::min(furthest_up_to_[first],
                    place_before_[memory_end_up_to_[stage][places_[first]]]);
  }

  /// Bounds where each stage can begin, seen from the front. False when that rules every split out.
  bool FindLatestStarts() {
    latest_start_[0] = 0;
    for (int s = 0; s < stages_; ++s) {
      const int furthest = FurthestUpTo(s, latest_start_[s]);
      latest_start_[s + 1] = std::min(furthest, last_ - (stages_ - s - 1));
      if (latest_start_[s + 1] <= s) return false;
    }
    return latest_start_[stages_] == last_;
  }

  /// Computes cheapest_ of `stage` from next_, that of the stage after, which is finite from
  /// `earliest` on at the earliest. Returns the same of cheapest_, or -1 when it is finite nowhere.
  int SolveStage(int stage, int earliest) {
    std::fill(cheapest_.begin(), cheapest_.end(), kInfinity);
    int* best_end = &best_end_[static_cast<size_t>(stage) * (layers_ + 1)];
    // Ends from the bottom up: ever smaller, and never cheaper. `base` is the deepest one that is
    // allowed.
    int size = 0;
    int base = 0;
    int pushed = latest_start_[stage + 1] + 1;
    int found = -1;
    for (int f = std::min(latest_start_[stage], pushed - 2); f >= stage; --f) {
      if (FurthestUpTo(stage, f) < earliest) break;
      while (pushed > std::max(f + 1, earliest)) {
        --pushed;
        const double value = costs_.TransferSeconds(places_[pushed]) + next_[pushed];
        if (value == kInfinity) continue;
        while (size > 0 && stack_[size - 1].value > value) --size;
        stack_[size++] = {value, pushed};
        base = std::min(base, size - 1);
      }
      const int furthest = Furthest(stage, f);
      while (base < size && stack_[base].end > furthest) ++base;
      while (base > 0 && stack_[base - 1].end <= furthest) --base;
      if (base == size) continue;
      cheapest_[f] = stack_[base].value;
      best_end[f] = stack_[base].end;
      found = f;
    }
    return found;
  }

  Split Trace() const {
    Split split;
    if (next_[0] == kInfinity) return split;
    split.transfer = next_[0];
    split.longest = 0;
    int first = 0;
    for (int s = 0; s < stages_; ++s) {
      const int end = best_end_[static_cast<size_t>(s) * (layers_ + 1) + first];
      split.longest = std::max(split.longest, Seconds(first, end));
      split.partition.push_back(places_[end]);
      first = end;
    }
    return split;
  }

  struct Entry {
    double value;
    int end;
  };

  const StageCosts& costs_;
  const int layers_;
  const int stages_;
  double other_cuts_ = 0;  // least that all cuts but one transfer
  // Last end that memory allows, by stage and first layer; empty for unlimited memory.
  std::vector<std::vector<int>> memory_end_;
  std::vector<std::vector<int>> memory_end_up_to_;
  std::vector<int> places_;        // layers a stage may begin at, and the end
  std::vector<int> place_before_;  // last place not behind a layer
  int last_ = 0;                   // the end's place
  std::vector<int> furthest_;
  std::vector<int> furthest_up_to_;
  std::vector<int> latest_start_;
  std::vector<double> cheapest_;
  std::vector<double> next_;
  std::vector<int> best_end_;
  std::vector<Entry> stack_;
};

/// Longest stages in [low, high) that may still hold the best split; with `high` allowed, cuts cost
/// `transfer` at least.
struct Interval {
  double low;
  double high;
  double transfer;
};

/// Branch and bound over the longest stage. Under a smaller bound cuts never cost less, so an
/// interval's splits take at least transfer + (M - 1) low.
class Search {
 public:
  Search(const CostModel& model, int stages)
      : weight_(model.micro_batches_each() - 1), costs_(model), splitter_(model, costs_, stages) {
    double longest_layer = 0;
    for (int f = 0; f < costs_.layers(); ++f) {
      const double seconds = costs_.SecondsBefore(f + 1) - costs_.SecondsBefore(f);
      longest_layer = std::max(longest_layer, seconds);
    }
    const double share = costs_.SecondsBefore(costs_.layers()) / stages;
    least_ = std::max(longest_layer, share) * (1 - 1e-9);  // room for rounding
  }

  std::optional<Partition> Run() {
    Consider(least_, splitter_.Solve(kInfinity, kInfinity));
    while (!open_.empty()) {
      const Interval interval = open_.top();
      open_.pop();
      if (IsWorse(Cost(interval.transfer, interval.low), interval.low)) break;
      const double bound = Middle(interval);
      const Split split = splitter_.Solve(bound, best_cost_ - weight_ * interval.low);
      Consider(interval.low, split);
      if (split.transfer > interval.transfer) {
        Open({splitter_.NextBound(), interval.high, interval.transfer});
      }
    }
    if (best_.partition.empty()) return std::nullopt;
    return best_.partition;
  }

 private:
  double Cost(double transfer, double longest) const { return transfer + weight_ * longest; }

  bool IsWorse(double cost, double longest) const {
    return cost > best_cost_ || (cost == best_cost_ && longest >= best_.longest);
  }

  void Consider(double low, const Split& split) {
    if (split.partition.empty()) return;
    const double cost = Cost(split.transfer, split.longest);
    if (!IsWorse(cost, split.longest)) {
      best_ = split;
      best_cost_ = cost;
    }
    Open({low, split.longest, split.transfer});
  }

  void Open(const Interval& interval) {
    if (interval.low < interval.high) open_.push(interval);
  }

  /// Halfway to the longest stage that could still improve on the best.
  double Middle(const Interval& interval) const {
    double high = interval.high;
    if (weight_ > 0) high = std::min(high, (best_cost_ - interval.transfer) / weight_);
    return std::max(interval.low, interval.low + (high - interval.low) / 2);
  }

  struct Later {
    double weight;
    bool operator()(const Interval& a, const Interval& b) const {
      const double cost_a = a.transfer + weight * a.low;
      const double cost_b = b.transfer + weight * b.low;
      return cost_a != cost_b ? cost_a > cost_b : a.low > b.low;
    }
  };

  const double weight_;
  const StageCosts costs_;
  BoundedSplitter splitter_;
  double least_ = 0;
  Split best_;
  double best_cost_ = kInfinity;
  std::priority_queue<Interval, std::vector<Interval>, Later> open_{Later{weight_}};
};

}  // namespace

std::optional<Partition> PartitionInto(const CostModel& model, int stages) {
  if (stages < 1 || stages > static_cast<int>(model.layers.size())) return std::nullopt;
  return Search(model, stages).Run();
}

}  // namespace freezepipe::planner
