#pragma once

#include <mutex>
#include <string>

#include "cmd/freezepipe/view/event_line.h"
#include "cmd/freezepipe/view/job_view.h"

namespace freezepipe::cli {

/// Shows a job on a file descriptor: on a terminal, event lines that scroll by above a block that
/// is painted anew; elsewhere plain lines. Thread-safe.
class TerminalView {
 public:
  /// Starts from what `view` knows. Live on a terminal (unless TERM is "dumb"), in colour unless
  /// NO_COLOR is set.
  TerminalView(JobView view, int fd);

  void Show(const v1alpha1::JobEvent& event);
  /// A line that is no event's.
  void Say(const StyledLine& line);
  /// The terminal has another size now.
  void Resized();
  /// The block stays as it is: what comes goes below.
  void Close();

 private:
  void Paint(const StyledLine* line);
  int Width() const;

  const int fd_;
  const bool live_;
  const bool color_;
  /// Guards what follows, and keeps writes whole.
  std::mutex mutex_;
  JobView view_;
  /// Lines of the block that stands now.
  int painted_lines_ = 0;
  bool closed_ = false;
};

}  // namespace freezepipe::cli
