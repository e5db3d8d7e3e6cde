#include "cmd/freezepipe/event_log.h"

#include <absl/strings/str_cat.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "operator/report/json.h"

namespace freezepipe::cli {
namespace {

/// Least time between two Progress events in the log, seconds.
constexpr double kProgressInterval = 1.0;

}  // namespace

absl::StatusOr<std::unique_ptr<EventLog>> EventLog::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0)
    return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", strerror(errno)));
  return std::unique_ptr<EventLog>(new EventLog(path, fd));
}

EventLog::~EventLog() { close(fd_); }

absl::Status EventLog::Write(const v1alpha1::JobEvent& event) {
  if (event.has_progress()) {
    if (last_progress_ >= 0 && event.time() - last_progress_ < kProgressInterval) {
      return absl::OkStatus();
    }
    last_progress_ = event.time();
  }
  const std::string line = report::ToJson(event, report::JsonLayout::kOneLine);
  const ssize_t written = write(fd_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  // A short write means a full disk: the next one would say so.
  const int error = written < 0 ? errno : ENOSPC;
  return absl::UnavailableError(absl::StrCat("cannot write ", path_, ": ", strerror(error)));
}

absl::StatusOr<std::vector<v1alpha1::JobEvent>> RecoverEvents(const std::string& path) {
  std::ifstream in(path);
  if (!in) return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", strerror(errno)));
  std::vector<v1alpha1::JobEvent> events;
  off_t good = 0;
  std::string line;
  int number = 0;
  while (std::getline(in, line) && !in.eof()) {
    ++number;
    v1alpha1::JobEvent event;
    if (const absl::Status read = report::FromJson(line, &event); !read.ok()) {
      return absl::DataLossError(absl::StrCat(path, ":", number, ": ", read.message()));
    }
    events.push_back(std::move(event));
    good += static_cast<off_t>(line.size()) + 1;
  }
  if (truncate(path.c_str(), good) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", strerror(errno)));
  }
  return events;
}

}  // namespace freezepipe::cli
