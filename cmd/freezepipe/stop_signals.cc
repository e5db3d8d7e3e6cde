#include "cmd/freezepipe/stop_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace freezepipe::cli {

StopSignals::StopSignals() : end_fd_(eventfd(0, EFD_CLOEXEC)) {
  sigemptyset(&handled_);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) {
    // nohup, or a shell's "&", may have asked for a signal to be ignored; a blocked one would be
    // heard all the same.
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&handled_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &handled_, &mask_before_);
  signal_fd_ = signalfd(-1, &handled_, SFD_CLOEXEC);
}

StopSignals::~StopSignals() {
  Finish();
  close(signal_fd_);
  close(end_fd_);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void StopSignals::Start(std::function<void(int count)> on_stop, std::function<void()> on_resize) {
  thread_ = std::thread([this, on_stop = std::move(on_stop), on_resize = std::move(on_resize)] {
    int stops = 0;
    while (true) {
      pollfd polled[] = {{signal_fd_, POLLIN, 0}, {end_fd_, POLLIN, 0}};
      if (poll(polled, 2, -1) < 0) continue;
      if (polled[1].revents != 0) return;
      signalfd_siginfo info;
      if (read(signal_fd_, &info, sizeof info) != sizeof info) continue;
      if (info.ssi_signo == SIGWINCH) {
        on_resize();
      } else {
        on_stop(++stops);
      }
    }
  });
}

void StopSignals::Finish() {
  if (!thread_.joinable()) return;
  eventfd_write(end_fd_, 1);
  thread_.join();
}

}  // namespace freezepipe::cli
