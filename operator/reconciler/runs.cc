#include "operator/reconciler/runs.h"

#include <iterator>
#include <utility>
#include <vector>

namespace freezepipe::reconciler {

std::shared_ptr<JobRun> Runs::Find(const std::string& uid) const {
  std::lock_guard lock(mutex_);
  const auto found = runs_.find(uid);
  return found == runs_.end() ? nullptr : found->second;
}

void Runs::Add(const std::string& uid, std::shared_ptr<JobRun> run) {
  std::lock_guard lock(mutex_);
  runs_[uid] = std::move(run);
}

void Runs::Drop(const std::string& uid) {
  // Declared first: its end joins threads, and comes when the lock is given back.
  std::shared_ptr<JobRun> dropped;
  std::lock_guard lock(mutex_);
  const auto found = runs_.find(uid);
  if (found == runs_.end()) return;
  dropped = std::move(found->second);
  runs_.erase(found);
}

void Runs::DropFormer(const kube::ObjectKey& job, const std::string& uid) {
  std::vector<std::shared_ptr<JobRun>> dropped;
  std::lock_guard lock(mutex_);
  for (auto run = runs_.begin(); run != runs_.end();) {
    const bool former = run->first != uid && run->second->key() == job;
    if (former) dropped.push_back(std::move(run->second));
    run = former ? runs_.erase(run) : std::next(run);
  }
}

}  // namespace freezepipe::reconciler
