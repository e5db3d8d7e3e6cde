#include "operator/reconciler/deadlines.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <chrono>

#include "operator/reconciler/job_pods.h"

namespace freezepipe::reconciler {
namespace {

using std::chrono::seconds;
using v1alpha1::JobState;

seconds Passed(const Snapshot& snapshot) {
  if (!snapshot.status.has_start_time()) return seconds(0);
  const auto start = kube::WallTime(seconds(snapshot.status.start_time().seconds()));
  return std::chrono::duration_cast<seconds>(snapshot.now - start);
}

bool IsStarting(const Snapshot& snapshot) {
  return snapshot.status.state() == JobState::Pending ||
         snapshot.status.state() == JobState::Starting;
}

std::string StillMissing(const Snapshot& snapshot) {
  std::string why = WhyNotRunning(snapshot.pods);
  if (why.empty()) why = WhatStillStarts(snapshot.pods);
  return why.empty() ? "" : absl::StrCat("; ", why);
}

}  // namespace

std::optional<std::string> MissedDeadline(const Snapshot& snapshot) {
  const auto& policy = snapshot.spec.run_policy();
  const seconds passed = Passed(snapshot);
  if (policy.has_active_deadline_seconds() && passed >= seconds(policy.active_deadline_seconds())) {
    return absl::StrCat("DeadlineExceeded: the job ran for longer than its ",
                        policy.active_deadline_seconds(), " s");
  }
  if (policy.has_start_deadline_seconds() && IsStarting(snapshot) &&
      passed >= seconds(policy.start_deadline_seconds())) {
    return absl::StrCat("StartDeadlineExceeded: not all workers were there within ",
                        policy.start_deadline_seconds(), " s", StillMissing(snapshot));
  }
  return std::nullopt;
}

std::optional<kube::Duration> UntilDeadline(const Snapshot& snapshot) {
  const auto& policy = snapshot.spec.run_policy();
  std::optional<seconds> first;
  const auto consider = [&](int limit) {
    const seconds left = std::max(seconds(1), seconds(limit) - Passed(snapshot));
    first = first ? std::min(*first, left) : left;
  };
  if (policy.has_active_deadline_seconds()) consider(policy.active_deadline_seconds());
  if (policy.has_start_deadline_seconds() && IsStarting(snapshot)) {
    consider(policy.start_deadline_seconds());
  }
  return first;
}

}  // namespace freezepipe::reconciler
