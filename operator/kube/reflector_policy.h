#pragma once

#include <absl/status/status.h>

#include "operator/kube/backoff.h"

namespace freezepipe::kube {

/// How a watch ended.
struct WatchEnd {
  /// OK: the server ended it.
  absl::Status status;
  Duration lasted;
  /// It brought an event, a bookmark counts.
  bool brought_events;
};

/// What a Reflector does next, and when. Pure: time and chance are told.
class ReflectorPolicy {
 public:
  struct Next {
    /// Else the watch goes on from the last resource version seen.
    bool list;
    Duration wait;
  };

  explicit ReflectorPolicy(Random random) : random_(random), backoff_(std::move(random)) {}

  Next AfterList(const absl::Status& status, TimePoint now);
  Next AfterWatch(const WatchEnd& end, TimePoint now);

  /// How long to ask the server to keep a watch: 5 to 10 minutes, so that not all end together.
  std::chrono::seconds WatchDuration();

 private:
  /// At least as long as the server asked for.
  Duration Wait(const absl::Status& status, TimePoint now);

  Random random_;
  Backoff backoff_;
};

}  // namespace freezepipe::kube
