#include "cmd/freezepipe/view/terminal_view.h"

#include <absl/strings/str_cat.h>
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "cmd/freezepipe/view/render.h"

namespace freezepipe::cli {
namespace {

/// Where a terminal does not say.
constexpr int kUsualWidth = 80;

bool IsSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool IsDumb() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::string(terminal) == "dumb";
}

/// A reader that went away is no reason to stop a job.
void WriteAll(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    done += written;
  }
}

}  // namespace

TerminalView::TerminalView(JobView view, int fd)
    : fd_(fd),
      live_(isatty(fd) && !IsDumb()),
      color_(live_ && !IsSet("NO_COLOR")),
      view_(std::move(view)) {}

void TerminalView::Show(const v1alpha1::JobEvent& event) {
  std::lock_guard lock(mutex_);
  view_.Apply(event);
  const auto line =
      DescribeEvent(event, view_, live_ ? Detail::kEvents : Detail::kEventsAndWindows);
  Paint(line ? &*line : nullptr);
}

void TerminalView::Say(const StyledLine& line) {
  std::lock_guard lock(mutex_);
  Paint(&line);
}

void TerminalView::Resized() {
  std::lock_guard lock(mutex_);
  Paint(nullptr);
}

void TerminalView::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
}

void TerminalView::Paint(const StyledLine* line) {
  std::string frame;
  // Event lines may wrap: they are never painted again.
  if (!live_ || closed_) {
    if (line == nullptr) return;
    return WriteAll(fd_, ToTerminal(*line, static_cast<int>(line->text.size()), color_) + "\n");
  }
  if (painted_lines_ > 0) absl::StrAppend(&frame, "\x1b[", painted_lines_, "A");
  frame += "\r\x1b[J";
  if (line != nullptr) {
    absl::StrAppend(&frame, ToTerminal(*line, static_cast<int>(line->text.size()), color_), "\n");
  }
  // A full last column would make some terminals wrap.
  const int width = Width() - 1;
  const std::vector<StyledLine> block = RenderJob(view_, width);
  for (const StyledLine& block_line : block) {
    absl::StrAppend(&frame, ToTerminal(block_line, width, color_), "\n");
  }
  painted_lines_ = static_cast<int>(block.size());
  WriteAll(fd_, frame);
}

int TerminalView::Width() const {
  winsize size{};
  if (ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return size.ws_col;
}

}  // namespace freezepipe::cli
