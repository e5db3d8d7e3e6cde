#include "operator/report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "freezepipe/v1alpha1/report.pb.h"

namespace freezepipe::report {
namespace {

using testing::HasSubstr;

TEST(ReportJsonTest, WritesZerosUnderCamelCaseNamesOnOneLine) {
  v1alpha1::JobEvent event;
  event.mutable_worker_released()->set_worker(0);
  EXPECT_EQ(ToJson(event, JsonLayout::kOneLine),
            "{\"time\":0,\"step\":0,\"workerReleased\":{\"worker\":0}}\n");
}

TEST(ReportJsonTest, WritesNumbersAsNumbersAndEnumsByName) {
  v1alpha1::Summary summary;
  summary.set_state(v1alpha1::JobState::Succeeded);
  summary.set_device_seconds(12.5);
  const std::string json = ToJson(summary, JsonLayout::kIndented);
  EXPECT_THAT(json, HasSubstr("\"deviceSeconds\": 12.5"));
  EXPECT_THAT(json, HasSubstr("\"state\": \"Succeeded\""));
  EXPECT_THAT(json, HasSubstr("\"oversubscribed\": false"));
}

TEST(ReportJsonTest, LeavesAbsentOptionalFieldsOut) {
  const std::string json = ToJson(v1alpha1::GradientChangeSpec(), JsonLayout::kOneLine);
  EXPECT_EQ(json, "{\"metric\":\"EffectivePerturbation\"}\n");
}

TEST(ReportJsonTest, ReadsBackWhatItWrote) {
  v1alpha1::JobEvent event;
  event.set_time(1.25);
  event.mutable_stage_times()->set_stage(2);
  v1alpha1::JobEvent read;
  ASSERT_TRUE(FromJson(ToJson(event, JsonLayout::kOneLine), &read).ok());
  EXPECT_EQ(read.SerializeAsString(), event.SerializeAsString());
}

TEST(ReportJsonTest, RefusesATruncatedLine) {
  v1alpha1::JobEvent event;
  EXPECT_FALSE(FromJson("{\"time\": 1.2", &event).ok());
}

}  // namespace
}  // namespace freezepipe::report
