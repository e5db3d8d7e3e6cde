#include "operator/kube/queue_state.h"

namespace freezepipe::kube {

void QueueState::Add(const std::string& key) {
  if (!wanted_.insert(key).second) return;
  if (!in_work_.contains(key)) order_.push_back(key);
}

void QueueState::AddAt(const std::string& key, TimePoint when) {
  const auto [entry, added] = delayed_.emplace(key, when);
  if (!added) {
    if (entry->second <= when) return;
    due_.erase({entry->second, key});
    entry->second = when;
  }
  due_.emplace(when, key);
}

void QueueState::AddDue(TimePoint now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const std::string key = due_.begin()->second;
    due_.erase(due_.begin());
    delayed_.erase(key);
    Add(key);
  }
}

std::optional<std::string> QueueState::Take(TimePoint now) {
  AddDue(now);
  if (order_.empty()) return std::nullopt;
  std::string key = std::move(order_.front());
  order_.pop_front();
  wanted_.erase(key);
  in_work_.insert(key);
  return key;
}

void QueueState::Done(const std::string& key) {
  in_work_.erase(key);
  if (wanted_.contains(key)) order_.push_back(key);
}

std::optional<TimePoint> QueueState::NextDue() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

}  // namespace freezepipe::kube
