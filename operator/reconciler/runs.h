#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "operator/reconciler/job_run.h"

namespace freezepipe::reconciler {

/// The jobs that run, by uid. Thread-safe; a run that is dropped ends when nobody uses it any more.
class Runs {
 public:
  /// Null if the job doesn't run.
  std::shared_ptr<JobRun> Find(const std::string& uid) const;
  void Add(const std::string& uid, std::shared_ptr<JobRun> run);
  void Drop(const std::string& uid);
  /// Those of this name but for the uid: the jobs were deleted.
  void DropFormer(const kube::ObjectKey& job, const std::string& uid);

 private:
  /// Guards runs_.
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<JobRun>> runs_;
};

}  // namespace freezepipe::reconciler
