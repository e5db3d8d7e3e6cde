#include "cmd/freezepipe/view/text.h"

#include <gtest/gtest.h>

namespace freezepipe::cli {
namespace {

TEST(ViewTextTest, Clock) {
  EXPECT_EQ(Clock(7.4), "0:07");
  EXPECT_EQ(Clock(754), "12:34");
  EXPECT_EQ(Clock(3723), "1:02:03");
  EXPECT_EQ(Clock(-1), "0:00");
}

TEST(ViewTextTest, Duration) {
  EXPECT_EQ(Duration(34.4), "34 s");
  EXPECT_EQ(Duration(59.7), "1 min 0 s");
  EXPECT_EQ(Duration(192), "3 min 12 s");
  EXPECT_EQ(Duration(7500), "2 h 5 min");
}

TEST(ViewTextTest, Bytes) {
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Bytes(999), "999 B");
  EXPECT_EQ(Bytes(1000), "1.0 kB");
  EXPECT_EQ(Bytes(1.25e6), "1.2 MB");
  EXPECT_EQ(Bytes(999990), "1.0 MB");
  EXPECT_EQ(Bytes(3e9), "3.0 GB");
}

TEST(ViewTextTest, Thousands) {
  EXPECT_EQ(Thousands(0), "0");
  EXPECT_EQ(Thousands(999.4), "999");
  EXPECT_EQ(Thousands(1234567), "1,234,567");
}

TEST(ViewTextTest, PercentAndCounts) {
  EXPECT_EQ(Percent(0.9134, 1), "91.3 %");
  EXPECT_EQ(Percent(1, 0), "100 %");
  EXPECT_EQ(Counted(1, "layer"), "1 layer");
  EXPECT_EQ(Counted(0, "step"), "0 steps");
}

}  // namespace
}  // namespace freezepipe::cli
