#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/report.pb.h"

namespace freezepipe::cli {

/// events.jsonl: one JobEvent a line, each written at once. Not thread-safe.
class EventLog {
 public:
  /// Appends to the file.
  static absl::StatusOr<std::unique_ptr<EventLog>> Open(const std::string& path);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  /// Progress events closer than a second to the one before are left out.
  absl::Status Write(const v1alpha1::JobEvent& event);

 private:
  EventLog(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  const std::string path_;
  const int fd_;
  double last_progress_ = -1;
};

/// The events of a log. What a killed process left of its last line is cut off the file.
absl::StatusOr<std::vector<v1alpha1::JobEvent>> RecoverEvents(const std::string& path);

}  // namespace freezepipe::cli
