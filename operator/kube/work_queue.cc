#include "operator/kube/work_queue.h"

namespace freezepipe::kube {

void WorkQueue::Add(const std::string& key) {
  std::lock_guard lock(mutex_);
  state_.Add(key);
  changed_.notify_one();
}

void WorkQueue::AddAfter(const std::string& key, Duration delay) {
  std::lock_guard lock(mutex_);
  state_.AddAt(key, SteadyClock::now() + delay);
  changed_.notify_one();
}

void WorkQueue::Retry(const std::string& key) {
  std::lock_guard lock(mutex_);
  const TimePoint now = SteadyClock::now();
  state_.AddAt(key, now + pace_.Next(key, now));
  changed_.notify_one();
}

void WorkQueue::Forget(const std::string& key) {
  std::lock_guard lock(mutex_);
  pace_.Forget(key);
}

int WorkQueue::Failures(const std::string& key) const {
  std::lock_guard lock(mutex_);
  return pace_.Failures(key);
}

std::optional<std::string> WorkQueue::Take(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (auto key = state_.Take(SteadyClock::now())) {
      // Another thread takes over what this one was waiting for.
      if (state_.waiting() > 0 || state_.NextDue()) changed_.notify_one();
      return key;
    }
    const auto due = state_.NextDue();
    const auto changed = [&] { return state_.waiting() > 0 || state_.NextDue() != due; };
    if (due) {
      changed_.wait_until(lock, stop, *due, changed);
    } else {
      changed_.wait(lock, stop, changed);
    }
  }
  return std::nullopt;
}

void WorkQueue::Done(const std::string& key) {
  std::lock_guard lock(mutex_);
  state_.Done(key);
  changed_.notify_one();
}

size_t WorkQueue::waiting() const {
  std::lock_guard lock(mutex_);
  return state_.waiting();
}

}  // namespace freezepipe::kube
