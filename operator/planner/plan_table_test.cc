#include "operator/planner/plan_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "operator/planner/test_models.h"
#include "proto/defaults.h"

namespace freezepipe::planner {
namespace {

using ::testing::HasSubstr;

/// Six layers of 3 ms on three workers, four micro-batches.
struct Job {
  v1alpha1::FreezePipeJobSpec spec;
  v1alpha1::ModelProfile profile;

  Job() {
    spec.mutable_worker()->set_count(3);
    ApplyDefaults(&spec);
    for (const char* name : {"conv1", "conv2", "conv3", "conv4", "conv5", "head"}) {
      auto* layer = profile.add_layers();
      *layer = Layer(0.003);
      layer->set_name(name);
    }
  }
};

TEST(PlanTableTest, OneTableForEachBoundary) {
  const Job job;
  // Unfrozen: 18 + 3 x 6 = 36 ms, and 72 of 108 device-milliseconds are busy. With four layers
  // frozen 10 of 18 ms are left: two stages take 10 + 3 x 6 = 28 ms, more than 36 sqrt(10 / 18)
  // = 26.8; three take 10 + 3 x 4 = 22.
  EXPECT_EQ(PlanTable(job.spec, job.profile, {0, 4}),
            "0 of 6 layers frozen: 3 stages, predicted step 36.0 ms, bubble 33 %\n"
            "  stage  layers  names           ms/micro-batch  frozen  share of step\n"
            "      0     0-1  conv1 .. conv2           6.000       0           67 %\n"
            "      1     2-3  conv3 .. conv4           6.000       0           67 %\n"
            "      2     4-5  conv5 .. head            6.000       0           67 %\n"
            "\n"
            "4 of 6 layers frozen: 3 stages, predicted step 22.0 ms, bubble 39 %\n"
            "  stage  layers  names           ms/micro-batch  frozen  share of step\n"
            "      0     0-3  conv1 .. conv4           4.000       4           73 %\n"
            "      1       4  conv5                    3.000       0           55 %\n"
            "      2       5  head                     3.000       0           55 %\n");
}

TEST(PlanTableTest, DevicesAreGivenBackAsLayersFreeze) {
  Job job;
  job.spec.mutable_release()->set_time_share(0);
  // At most 36 ms: with four frozen two stages take 28, with five one takes 4 x 8 = 32.
  const std::string text = PlanTable(job.spec, job.profile, {0, 4, 5});
  EXPECT_THAT(text, HasSubstr("0 of 6 layers frozen: 3 stages, predicted step 36.0 ms"));
  EXPECT_THAT(text, HasSubstr("4 of 6 layers frozen: 2 stages, predicted step 28.0 ms"));
  EXPECT_THAT(text, HasSubstr("5 of 6 layers frozen: 1 stage, predicted step 32.0 ms, bubble 0 %"));
}

TEST(PlanTableTest, RefusesWhatCannotBe) {
  Job job;
  EXPECT_THROW(PlanTable(job.spec, job.profile, {6}), std::invalid_argument);
  EXPECT_THROW(PlanTable(job.spec, job.profile, {-1}), std::invalid_argument);
  job.spec.mutable_worker()->set_count(7);
  job.spec.mutable_pipeline()->set_stages(7);
  EXPECT_THROW(PlanTable(job.spec, job.profile, {0}), std::invalid_argument);
}

}  // namespace
}  // namespace freezepipe::planner
