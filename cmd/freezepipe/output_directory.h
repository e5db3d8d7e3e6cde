#pragma once

#include <absl/status/status.h>

#include <string>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe::cli {

/// The folder that a run writes into, and the names in it.
class OutputDirectory {
 public:
  explicit OutputDirectory(std::string path) : path_(std::move(path)) {}
  ~OutputDirectory();
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string manifest() const { return path_ + "/manifest.yaml"; }
  std::string events() const { return path_ + "/events.jsonl"; }
  std::string status() const { return path_ + "/status.json"; }
  std::string summary() const { return path_ + "/summary.json"; }
  std::string weights() const { return path_ + "/model.safetensors"; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  std::string logs() const { return path_ + "/logs"; }

  /// Whether a new run (or one that resumes) may write here; writes nothing itself. The error says
  /// what to do.
  absl::Status Check(bool resume) const;

  /// Makes the folders, keeps other runs out until this object is gone, and writes the manifest.
  /// Leaves nothing behind when it fails.
  absl::Status Create(const v1alpha1::FreezePipeJob& job);

 private:
  absl::Status MakeFolder(const std::string& folder);
  absl::Status Lock();
  absl::Status Fill(const v1alpha1::FreezePipeJob& job);
  void RemoveWhatWasMade();

  const std::string path_;
  /// Locked while the run lasts; -1 before.
  int lock_fd_ = -1;
  /// Folders that Create made, outer ones first.
  std::vector<std::string> made_;
};

}  // namespace freezepipe::cli
