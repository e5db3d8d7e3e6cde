#include "cmd/freezepipe-trial/trial.h"

#include <absl/strings/str_cat.h>

#include <chrono>
#include <thread>

namespace freezepipe::trial {
namespace {

using Pointer = kube::Json::json_pointer;

constexpr kube::Resource kJobs{"freezepipe.io", "v1alpha1", "freezepipejobs"};

/// A condition of the job; an empty object if it has none of this type.
kube::Json Condition(const kube::Json& job, const std::string& type) {
  for (const kube::Json& condition :
       job.value(Pointer("/status/conditions"), kube::Json::array())) {
    if (condition.value("type", "") == type) return condition;
  }
  return kube::Json::object();
}

bool IsTrue(const kube::Json& condition) { return condition.value("status", "") == "True"; }

/// What is told when it changes.
std::string Summary(const kube::Json& job) {
  const kube::Json status = job.value("status", kube::Json::object());
  const auto count = [&](const char* list) {
    return status.value(list, kube::Json::array()).size();
  };
  return absl::StrCat(status.value("state", "not seen yet"), ", ", status.value("boundary", 0),
                      " layers frozen, ", count("workers"), " workers train, ",
                      count("releasedWorkers"), " freed");
}

std::string Why(const kube::Json& condition) {
  return absl::StrCat(condition.value("reason", "no reason"), ": ",
                      condition.value("message", "no message"));
}

class Trial {
 public:
  Trial(kube::Client& client, const kube::Json& job, const Options& options,
        absl::FunctionRef<void(const std::string&)> tell)
      : client_(client),
        job_(job),
        key_(kube::KeyOf(job)),
        options_(options),
        tell_(tell),
        end_(std::chrono::steady_clock::now() + options.limit) {}

  absl::Status Run() {
    absl::Status status = Clear();
    if (!status.ok()) return status;
    const auto created = client_.Create(kJobs, job_);
    if (!created.ok()) return created.status();
    status = AwaitEnd();
    if (!status.ok()) return status;
    return client_.Delete(kJobs, key_);
  }

 private:
  /// Waits until there is no job of this name.
  absl::Status Clear() {
    while (true) {
      const absl::Status deleted = client_.Delete(kJobs, key_);
      if (absl::IsNotFound(deleted)) return absl::OkStatus();
      if (!deleted.ok()) return deleted;
      if (!Pause())
        return absl::DeadlineExceededError("the job of an earlier trial doesn't go away");
    }
  }

  absl::Status AwaitEnd() {
    kube::Json job = kube::Json::object();
    std::string told;
    while (true) {
      const auto found = client_.Get(kJobs, key_);
      if (found.ok()) {
        job = *found;
      } else if (!absl::IsUnavailable(found.status())) {
        return found.status();
      }
      const std::string summary = Summary(job);
      if (summary != told) tell_(summary);
      told = summary;
      if (IsTrue(Condition(job, "Complete"))) return absl::OkStatus();
      const kube::Json failed = Condition(job, "Failed");
      if (IsTrue(failed)) return absl::InternalError(Why(failed));
      if (!Pause()) {
        return absl::DeadlineExceededError(
            absl::StrCat("not finished in time; ", Why(Condition(job, "Running"))));
      }
    }
  }

  /// False: the time is up.
  bool Pause() const {
    if (std::chrono::steady_clock::now() >= end_) return false;
    std::this_thread::sleep_for(options_.poll_period);
    return true;
  }

  kube::Client& client_;
  const kube::Json& job_;
  const kube::ObjectKey key_;
  const Options& options_;
  const absl::FunctionRef<void(const std::string&)> tell_;
  const std::chrono::steady_clock::time_point end_;
};

}  // namespace

absl::Status Try(kube::Client& client, const kube::Json& job, const Options& options,
                 absl::FunctionRef<void(const std::string& line)> tell) {
  return Trial(client, job, options, tell).Run();
}

}  // namespace freezepipe::trial
