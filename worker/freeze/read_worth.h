#pragma once

#include <optional>
#include <vector>

namespace freezepipe::worker {

/// Whether reading a micro-batch from the cache pays, by how long others took that were read or
/// computed.
class ReadWorth {
 public:
  /// Medians of so many.
  static constexpr size_t kMicroBatches = 32;

  struct Medians {
    double read = 0;
    double computed = 0;
  };

  void OnComputed(double seconds);
  /// Says so if the newest kMicroBatches took longer to be read than to be computed.
  std::optional<Medians> OnRead(double seconds);

 private:
  std::vector<double> reads_;
  std::vector<double> computed_;  // a ring of the newest
  size_t next_computed_ = 0;
};

}  // namespace freezepipe::worker
