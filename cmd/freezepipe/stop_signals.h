#pragma once

#include <signal.h>

#include <functional>
#include <thread>

namespace freezepipe::cli {

/// Turns signals into calls on a thread of its own. From construction on they are blocked in this
/// thread and in those it starts, so make one before any thread. Signals that this process ignores
/// stay ignored.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// `on_stop` gets 1 for the first SIGINT, SIGTERM or SIGHUP, 2 for the next, ...; `on_resize`
  /// hears of SIGWINCH. Signals that came since construction count.
  void Start(std::function<void(int count)> on_stop, std::function<void()> on_resize);

  /// No call comes after its return; signals stay blocked.
  void Finish();

 private:
  sigset_t handled_;
  sigset_t mask_before_;
  int signal_fd_ = -1;
  /// An eventfd that ends the thread.
  int end_fd_ = -1;
  std::thread thread_;
};

}  // namespace freezepipe::cli
