#include "operator/kube/time.h"

#include <absl/time/time.h>

#include <condition_variable>
#include <mutex>

namespace freezepipe::kube {

std::string MicroTime(WallTime time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

bool SleepFor(Duration duration, const std::stop_token& stop) {
  std::mutex mutex;  // Guards nothing: the wait needs one.
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace freezepipe::kube
