#pragma once

#include <ATen/core/Tensor.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "freezepipe/v1alpha1/report.pb.h"

namespace freezepipe::training {

using Weights = std::map<std::string, at::Tensor>;

/// What a finished `freezepipe run` left.
struct RunResult {
  int exit_code = -1;
  std::string output;  // both streams
  v1alpha1::Summary summary;
  std::vector<v1alpha1::JobEvent> events;
  /// Final weights by their exported names.
  Weights weights;
  /// Mean training loss of each window by its last step; with windows of one step, every step's
  /// loss.
  std::map<int, double> losses;
};

/// A `freezepipe run` under way, on the programs of this build.
class JobRun {
 public:
  /// The manifest is written to `folder`/job.json; `folder`/output is the output directory.
  JobRun(const std::filesystem::path& folder, const v1alpha1::FreezePipeJobSpec& spec,
         const std::vector<std::string>& arguments = {});
  ~JobRun();

  pid_t pid() const { return pid_; }
  /// Processes of worker `number`, newest last.
  pid_t WorkerPid(int number) const;
  std::vector<v1alpha1::JobEvent> Events() const;
  /// Waits until an event fits; fails the test when the run ends first or nothing fits within two
  /// minutes.
  v1alpha1::JobEvent Await(const std::function<bool(const v1alpha1::JobEvent&)>& fits) const;
  void Signal(int signal) const;
  RunResult Finish();

 private:
  bool Ended() const;

  const std::filesystem::path folder_;
  pid_t pid_;
  mutable int status_ = -1;
};

/// Runs to the end.
RunResult RunJob(const std::filesystem::path& folder, const v1alpha1::FreezePipeJobSpec& spec,
                 const std::vector<std::string>& arguments = {});

/// A small VGG with batch-norm and dropout on a made-up data set of `samples` 28 x 28 images, 2
/// epochs, windows of one step, policy None.
v1alpha1::FreezePipeJobSpec SmallJob(const std::filesystem::path& data, int samples);

/// Every step's loss is bit-identical; none is missing.
void ExpectSameLosses(const std::map<int, double>& actual, const std::map<int, double>& expected);

/// Each epoch's training loss is the mean of its steps' losses.
void ExpectEpochLosses(const v1alpha1::Summary& summary, const std::map<int, double>& losses);

/// Bit-identical, name by name.
void ExpectSameWeights(const Weights& actual, const Weights& expected);

}  // namespace freezepipe::training
