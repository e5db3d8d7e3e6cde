#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "freezepipe/v1alpha1/plan.pb.h"

namespace freezepipe::cli {

/// The program freezepipe-worker: what this one asks of it.
class WorkerProgram {
 public:
  /// Looks beside this program, then in PATH; the error says where.
  static absl::StatusOr<WorkerProgram> Find();

  const std::string& path() const { return path_; }

  /// What a schema can't see; faults are in the answer.
  absl::StatusOr<v1alpha1::JobDescription> Describe(const v1alpha1::FreezePipeJobSpec& spec) const;

  /// Measures every layer on this machine; takes seconds to minutes.
  absl::StatusOr<v1alpha1::ModelProfile> Profile(const v1alpha1::FreezePipeJobSpec& spec) const;

  /// "cpu", "cuda:0", ...
  absl::StatusOr<std::vector<std::string>> Devices() const;

  /// What is wrong with a complete checkpoint's first missing or damaged file, naming it; empty if
  /// it is sound.
  absl::StatusOr<std::string> Check(const std::string& checkpoint) const;

  /// Writes the weights of a checkpoint folder as safetensors.
  absl::Status Export(const std::string& checkpoint, const std::string& output) const;

  /// Arguments that train as one worker of the job whose coordinator is on this machine's port.
  std::vector<std::string> TrainArguments(int port, const std::string& job, int worker,
                                          const std::string& device) const;

 private:
  explicit WorkerProgram(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace freezepipe::cli
