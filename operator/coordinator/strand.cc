#include "operator/coordinator/strand.h"

#include <utility>

namespace freezepipe::coordinator {

Strand::Strand(std::chrono::milliseconds period, Task tick)
    : period_(period),
      tick_(std::move(tick)),
      thread_([this](std::stop_token stop) { Run(std::move(stop)); }) {}

Strand::~Strand() {
  thread_.request_stop();
  thread_.join();
}

void Strand::Post(Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  posted_.notify_one();
}

void Strand::Run(std::stop_token stop) {
  using Clock = std::chrono::steady_clock;
  auto next_tick = Clock::now() + period_;
  while (!stop.stop_requested()) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      posted_.wait_until(lock, stop, next_tick, [this] { return !tasks_.empty(); });
      if (stop.stop_requested()) return;
      // A tick that is due goes first: a flood of tasks must not hold it off.
      if (Clock::now() < next_tick && !tasks_.empty()) {
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
    }
    if (task) {
      task();
    } else if (Clock::now() >= next_tick) {
      tick_();
      next_tick = Clock::now() + period_;
    }
  }
}

}  // namespace freezepipe::coordinator
