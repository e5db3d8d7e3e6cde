#include "operator/kube/event_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kube/test_objects.h"

namespace freezepipe::kube {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

const WallTime kNow{hours(500'000)};

EventText Text(const std::string& note) {
  return {.reason = "Released", .action = "Repartition", .note = note};
}

class EventSeriesTest : public testing::Test {
 protected:
  EventSeries series_{"freezepipe.io/operator", "operator-1"};
  const Json pod_ = Pod("a", "1", "ua");
};

TEST_F(EventSeriesTest, TheFirstIsAWholeEvent) {
  const auto write = series_.Record(pod_, Text("worker 3 is free"), kNow);
  ASSERT_TRUE(write);
  EXPECT_TRUE(write->create);
  EXPECT_EQ(write->key.ns, "train");
  const Json expected = Json::parse(R"({
      "apiVersion": "events.k8s.io/v1", "kind": "Event", "type": "Normal",
      "eventTime": "2027-01-15T08:00:00.000000Z", "reason": "Released", "action": "Repartition",
      "reportingController": "freezepipe.io/operator", "reportingInstance": "operator-1",
      "note": "worker 3 is free",
      "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "train", "name": "a", "uid": "ua"}})");
  Json body = write->body;
  EXPECT_EQ(KeyOf(body), write->key);
  EXPECT_TRUE(write->key.name.starts_with("a."));
  body.erase("metadata");
  EXPECT_EQ(body, expected);
}

TEST_F(EventSeriesTest, TheSecondIsCountedAtOnceLaterOnesWhenTheSeriesEnds) {
  const auto first = series_.Record(pod_, Text("x"), kNow);
  const auto second = series_.Record(pod_, Text("x"), kNow + minutes(1));
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->create);
  EXPECT_EQ(second->key, first->key);
  EXPECT_EQ(second->body["series"]["count"], 2);
  EXPECT_EQ(second->body["series"]["lastObservedTime"], MicroTime(kNow + minutes(1)));
  EXPECT_FALSE(series_.Record(pod_, Text("x"), kNow + minutes(2)));
  EXPECT_FALSE(series_.Record(pod_, Text("x"), kNow + minutes(3)));
  EXPECT_THAT(series_.Due(kNow + minutes(8)), IsEmpty());
  const auto due = series_.Due(kNow + minutes(9));
  ASSERT_THAT(due, SizeIs(1));
  EXPECT_EQ(due[0].key, first->key);
  EXPECT_EQ(due[0].body["series"]["count"], 4);
  EXPECT_EQ(due[0].body["series"]["lastObservedTime"], MicroTime(kNow + minutes(3)));
}

TEST_F(EventSeriesTest, AfterItsEndANewSeriesBegins) {
  series_.Record(pod_, Text("x"), kNow);
  EXPECT_THAT(series_.Due(kNow + minutes(6)), IsEmpty());
  const auto write = series_.Record(pod_, Text("x"), kNow + minutes(6));
  ASSERT_TRUE(write);
  EXPECT_TRUE(write->create);
}

TEST_F(EventSeriesTest, ALongSeriesIsRefreshedEvery30Minutes) {
  WallTime now = kNow;
  int writes = 0;
  for (; now <= kNow + hours(2); now += minutes(1)) {
    series_.Record(pod_, Text("x"), now);
    writes += series_.Due(now).size();
  }
  EXPECT_EQ(writes, 3);
}

TEST_F(EventSeriesTest, OtherTextsAndObjectsAreOtherEvents) {
  const auto first = series_.Record(pod_, Text("x"), kNow);
  const auto text = series_.Record(pod_, Text("y"), kNow);
  const auto object = series_.Record(Pod("a", "2", "another uid"), Text("x"), kNow);
  ASSERT_TRUE(text && object);
  EXPECT_NE(first->key, text->key);
  EXPECT_NE(first->key, object->key);
  EXPECT_NE(text->key, object->key);
}

TEST_F(EventSeriesTest, KeepsTheApiServersLimits) {
  const Json long_name = Pod(std::string(253, 'n'), "1", "u");
  std::string note(1022, 'x');
  note += "\u20ac";  // Three bytes: doesn't fit.
  const auto write = series_.Record(long_name, Text(note), kNow);
  ASSERT_TRUE(write);
  EXPECT_EQ(write->key.name.size(), 253u);
  EXPECT_EQ(write->body["note"], std::string(1022, 'x'));
  const Json node = {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "n1"}}}};
  EXPECT_EQ(series_.Record(node, Text("x"), kNow)->key.ns, "default");
}

}  // namespace
}  // namespace freezepipe::kube
