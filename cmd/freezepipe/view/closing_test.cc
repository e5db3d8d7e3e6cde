#include "cmd/freezepipe/view/closing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freezepipe::cli {
namespace {

using testing::ElementsAre;
using v1alpha1::Summary;

const std::vector<std::string> kLayers = {"conv1", "conv2", "conv3", "head"};

Summary Succeeded() {
  Summary summary;
  summary.set_state(v1alpha1::JobState::Succeeded);
  summary.set_accuracy(0.92);
  summary.add_epochs();
  summary.add_epochs();
  summary.set_steps(200);
  summary.set_total_steps(200);
  summary.set_wall_seconds(95);
  summary.set_workers(2);
  summary.set_device_seconds(150);
  summary.set_device_seconds_without_release(200);
  summary.add_releases();
  for (int boundary : {1, 2, 3}) {
    auto* entry = summary.add_freeze_log();
    entry->set_boundary(boundary);
    entry->set_frozen_at(boundary * 90);  // the third would come after the end
  }
  summary.set_weights("model.safetensors");
  return summary;
}

std::vector<std::string> Texts(const Summary& summary) {
  std::vector<std::string> texts;
  for (const StyledLine& line : DescribeSummary(summary, kLayers, "out"))
    texts.push_back(line.text);
  return texts;
}

TEST(ClosingTest, SaysWhatFrozeAndWhatWasFreed) {
  EXPECT_THAT(
      Texts(Succeeded()),
      ElementsAre("done: test accuracy 92.00 % after 2 epochs (200 steps) in 1 min 35 s",
                  "frozen: 2 of 4 layers, up to conv2, at steps 90, 180",
                  "freed: 1 of 2 devices; 150 device-seconds held, 25.0 % less than the 200 "
                  "without release",
                  "files: out: model.safetensors (weights), summary.json, events.jsonl, "
                  "checkpoints, logs"));
}

TEST(ClosingTest, WhatWasToFreezeAtTheEndNeverWasFrozen) {
  Summary summary = Succeeded();
  summary.mutable_freeze_log(1)->set_frozen_at(200);
  EXPECT_EQ(Texts(summary)[1], "frozen: 1 of 4 layers, up to conv1, at step 90");
}

TEST(ClosingTest, SaysThatNothingFroze) {
  Summary summary = Succeeded();
  summary.clear_freeze_log();
  summary.clear_releases();
  EXPECT_EQ(Texts(summary)[1], "frozen: nothing");
  EXPECT_EQ(Texts(summary)[2], "freed: no device; 150 device-seconds held");
}

TEST(ClosingTest, SaysWhyAJobFailed) {
  Summary summary = Succeeded();
  summary.set_state(v1alpha1::JobState::Failed);
  summary.set_steps(42);
  summary.set_message("loss is NaN at step 42");
  EXPECT_EQ(Texts(summary)[0],
            "failed at step 42 of 200, after 1 min 35 s: loss is NaN at step 42");
}

TEST(ClosingTest, SaysHowAStoppedJobGoesOn) {
  Summary summary = Succeeded();
  summary.set_state(v1alpha1::JobState::Stopped);
  summary.set_steps(42);
  summary.set_message("as requested");
  EXPECT_EQ(Texts(summary).front(), "stopped at step 42 of 200, after 1 min 35 s: as requested");
  EXPECT_EQ(Texts(summary).back(),
            "to go on: freezepipe run out/manifest.yaml --output out --resume");
}

TEST(ClosingTest, WarnsOfSharedCores) {
  Summary summary = Succeeded();
  summary.set_oversubscribed(true);
  EXPECT_THAT(Texts(summary), testing::Contains(testing::HasSubstr("more workers than cores")));
}

}  // namespace
}  // namespace freezepipe::cli
