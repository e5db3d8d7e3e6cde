#pragma once

#include <absl/status/status.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "operator/kube/client.h"
#include "operator/kube/event_series.h"

namespace freezepipe::kube {

/// Writes Events, on a thread of its own, so that nobody waits for one. A write that can't be made
/// for now is tried up to 12 times, 10 s apart; beyond 1,000 that wait, new ones are dropped.
/// Thread-safe.
class EventRecorder {
 public:
  /// Told of events that were given up, on the recorder's thread or the caller's.
  using ErrorHandler = std::function<void(const absl::Status& error)>;

  /// `client` outlives it.
  EventRecorder(Client& client, std::string controller, std::string instance,
                ErrorHandler on_error);
  /// What waits is tried once more, as far as the API server takes it.
  ~EventRecorder();

  /// `regarding` is a whole object, with apiVersion and kind.
  void Record(const Json& regarding, const EventText& text);

 private:
  void Run(const std::stop_token& stop);
  /// False: may succeed later.
  bool TryWrite(const EventSeries::Write& write);

  Client& client_;
  const ErrorHandler on_error_;
  /// Guards series_ and waiting_.
  std::mutex mutex_;
  EventSeries series_;
  std::deque<EventSeries::Write> waiting_;
  std::condition_variable_any added_;
  /// Last: it uses all of the above.
  std::jthread thread_;
};

}  // namespace freezepipe::kube
