#include "cmd/freezepipe/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace freezepipe::cli {
namespace {

v1alpha1::JobEvent Released(double time, int worker) {
  v1alpha1::JobEvent event;
  event.set_time(time);
  event.mutable_worker_released()->set_worker(worker);
  return event;
}

v1alpha1::JobEvent ProgressAt(double time) {
  v1alpha1::JobEvent event;
  event.set_time(time);
  event.mutable_progress()->set_loss(1);
  return event;
}

class EventLogTest : public testing::Test {
 protected:
  EventLogTest()
      : path_(testing::TempDir() + "/events-" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl") {
    std::remove(path_.c_str());
  }
  ~EventLogTest() override { std::remove(path_.c_str()); }

  std::string Content() {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  const std::string path_;
};

TEST_F(EventLogTest, WritesALineAtOnce) {
  auto log = EventLog::Open(path_);
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE((*log)->Write(Released(1.5, 0)).ok());
  EXPECT_EQ(Content(), "{\"time\":1.5,\"step\":0,\"workerReleased\":{\"worker\":0}}\n");
}

TEST_F(EventLogTest, KeepsOneProgressASecond) {
  auto log = EventLog::Open(path_);
  ASSERT_TRUE(log.ok());
  for (double time : {0.0, 0.5, 1.0, 1.5, 1.75, 2.5}) {
    ASSERT_TRUE((*log)->Write(ProgressAt(time)).ok());
  }
  auto events = RecoverEvents(path_);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 3);
  EXPECT_EQ((*events)[1].time(), 1.0);
  EXPECT_EQ((*events)[2].time(), 2.5);
}

TEST_F(EventLogTest, CutsOffAHalfWrittenLineAndGoesOn) {
  {
    auto log = EventLog::Open(path_);
    ASSERT_TRUE((*log)->Write(Released(1, 0)).ok());
    ASSERT_TRUE((*log)->Write(Released(2, 1)).ok());
  }
  std::ofstream(path_, std::ios::app) << "{\"time\":3,\"st";
  auto events = RecoverEvents(path_);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(events->size(), 2);
  auto log = EventLog::Open(path_);
  ASSERT_TRUE((*log)->Write(Released(4, 2)).ok());
  events = RecoverEvents(path_);
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), 3);
  EXPECT_EQ((*events)[2].time(), 4);
}

TEST_F(EventLogTest, SaysWhichLineIsDamaged) {
  std::ofstream(path_) << "{\"time\":1}\nnonsense\n{\"time\":2}\n";
  EXPECT_THAT(std::string(RecoverEvents(path_).status().message()), testing::HasSubstr(":2: "));
}

TEST_F(EventLogTest, SaysThatTheDiskIsFull) {
  auto log = EventLog::Open("/dev/full");
  ASSERT_TRUE(log.ok());
  EXPECT_THAT(std::string((*log)->Write(Released(1, 0)).message()),
              testing::HasSubstr("/dev/full: No space left on device"));
}

}  // namespace
}  // namespace freezepipe::cli
