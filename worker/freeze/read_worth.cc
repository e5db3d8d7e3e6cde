#include "worker/freeze/read_worth.h"

#include <algorithm>

namespace freezepipe::worker {
namespace {

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void ReadWorth::OnComputed(double seconds) {
  if (computed_.size() < kMicroBatches) {
    computed_.push_back(seconds);
  } else {
    computed_[next_computed_++ % kMicroBatches] = seconds;
  }
}

std::optional<ReadWorth::Medians> ReadWorth::OnRead(double seconds) {
  if (computed_.size() < kMicroBatches) return std::nullopt;
  reads_.push_back(seconds);
  if (reads_.size() < kMicroBatches) return std::nullopt;
  const Medians medians{.read = Median(reads_), .computed = Median(computed_)};
  reads_.clear();
  if (medians.read <= medians.computed) return std::nullopt;
  return medians;
}

}  // namespace freezepipe::worker
