#include "cmd/freezepipe/view/terminal_view.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace freezepipe::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

JobView Small() {
  JobView view;
  view.facts = {"small", {"conv1", "head"}, 1, 10, 10};
  return view;
}

v1alpha1::JobEvent Released(int worker) {
  v1alpha1::JobEvent event;
  event.set_step(5);
  event.mutable_worker_released()->set_worker(worker);
  return event;
}

v1alpha1::JobEvent Progress(int step) {
  v1alpha1::JobEvent event;
  event.set_step(step);
  event.mutable_progress()->set_loss(0.5);
  return event;
}

/// A terminal of 40 columns.
class TerminalViewTest : public testing::Test {
 protected:
  TerminalViewTest() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    grantpt(master_);
    unlockpt(master_);
    terminal_ = open(ptsname(master_), O_RDWR | O_NOCTTY);
    winsize size{};
    size.ws_col = 40;
    ioctl(terminal_, TIOCSWINSZ, &size);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
  }
  ~TerminalViewTest() override {
    close(terminal_);
    close(master_);
  }

  /// What was written since the last call, with the terminal's line ends made plain.
  std::string Written() {
    std::string text(1 << 16, '\0');
    const ssize_t got = read(master_, text.data(), text.size());
    text.resize(std::max<ssize_t>(got, 0));
    std::erase(text, '\r');
    return text;
  }

  const int master_;
  int terminal_ = -1;
};

TEST_F(TerminalViewTest, EventLinesGoAboveTheBlockThatIsPaintedAnew) {
  TerminalView view(Small(), terminal_);
  view.Show(Progress(4));
  EXPECT_THAT(Written(), StartsWith("\x1b[J\x1b[1msmall  Pending"));
  view.Show(Released(0));
  const std::string frame = Written();
  // Up over the two lines that stood, clear, the event, then the block.
  EXPECT_THAT(frame, StartsWith("\x1b[2A\x1b[J\x1b[32m   0:00  released at step 5: worker 0"));
  EXPECT_LT(frame.find("released"), frame.find("small  Pending"));
  EXPECT_THAT(frame, HasSubstr("1 device given back"));
}

TEST_F(TerminalViewTest, BlockFitsTheWidthAlsoAfterAResize) {
  TerminalView view(Small(), terminal_);
  view.Say({"a", Style::kPlain});
  EXPECT_THAT(Written(), HasSubstr("0 %  step 0/10  epoch 1/1"));
  winsize size{};
  size.ws_col = 20;
  ioctl(terminal_, TIOCSWINSZ, &size);
  view.Resized();
  EXPECT_THAT(Written(), Not(HasSubstr("epoch")));
}

TEST_F(TerminalViewTest, NoColorIsHonoured) {
  setenv("NO_COLOR", "1", 1);
  TerminalView view(Small(), terminal_);
  view.Show(Released(0));
  EXPECT_THAT(Written(), Not(HasSubstr("\x1b[32m")));
}

TEST_F(TerminalViewTest, LinesComeBelowTheBlockOnceClosed) {
  TerminalView view(Small(), terminal_);
  view.Show(Progress(10));
  Written();
  view.Close();
  view.Say({"done", Style::kPlain});
  EXPECT_EQ(Written(), "done\n");
}

TEST_F(TerminalViewTest, APipeGetsPlainLines) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  TerminalView view(Small(), ends[1]);
  view.Show(Progress(4));
  view.Show(Released(0));
  close(ends[1]);
  std::string text(4096, '\0');
  text.resize(read(ends[0], text.data(), text.size()));
  close(ends[0]);
  EXPECT_EQ(text, "   0:00  released at step 5: worker 0 gave its device back\n");
}

}  // namespace
}  // namespace freezepipe::cli
