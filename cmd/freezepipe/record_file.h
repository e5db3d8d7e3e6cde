#pragma once

#include <string>

#include "operator/coordinator/session_runner.h"

namespace freezepipe::cli {

/// The job's durable record, as JSON in a file.
class RecordFile : public coordinator::RecordStore {
 public:
  explicit RecordFile(std::string path) : path_(std::move(path)) {}

  void Write(const v1alpha1::FreezePipeJobStatus& status) override;

  /// What was written last; empty before.
  const v1alpha1::FreezePipeJobStatus& last() const { return last_; }

 private:
  const std::string path_;
  v1alpha1::FreezePipeJobStatus last_;
};

}  // namespace freezepipe::cli
