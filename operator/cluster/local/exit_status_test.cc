#include "operator/cluster/local/exit_status.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace freezepipe::cluster {
namespace {

TEST(ExitStatusTest, SaysTheStatus) {
  EXPECT_EQ(DescribeWaitStatus(system("exit 3")), "exit status 3");
  EXPECT_EQ(DescribeWaitStatus(system("exit 0")), "exit status 0");
}

TEST(ExitStatusTest, SaysTheSignalByNumberAndName) {
  EXPECT_EQ(DescribeWaitStatus(system("kill -9 $$")), "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(DescribeWaitStatus(system("kill -SEGV $$")), "killed by signal 11 (SIGSEGV)");
}

TEST(LastLineTest, SkipsBlankLinesAtTheEnd) {
  EXPECT_EQ(LastLine("first\n  second \n\n  \n"), "second");
  EXPECT_EQ(LastLine("only"), "only");
  EXPECT_EQ(LastLine("\n \n"), "");
  EXPECT_EQ(LastLine(""), "");
}

}  // namespace
}  // namespace freezepipe::cluster
