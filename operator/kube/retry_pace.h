#pragma once

#include <map>
#include <string>

#include "operator/kube/time.h"
#include "operator/kube/token_bucket.h"

namespace freezepipe::kube {

/// How long a key that failed waits: 5 ms after its first failure, doubling up to 1,000 s, and all
/// keys together no more than 10 a second after a burst of 100. Pure: the time is told. Not
/// thread-safe.
class RetryPace {
 public:
  Duration Next(const std::string& key, TimePoint now);
  /// It succeeded.
  void Forget(const std::string& key) { failures_.erase(key); }
  int Failures(const std::string& key) const;

 private:
  std::map<std::string, int> failures_;
  TokenBucket all_{10, 100};
};

}  // namespace freezepipe::kube
