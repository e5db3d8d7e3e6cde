#include "cmd/freezepipe/view/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freezepipe::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1alpha1::JobEvent At(int step) {
  v1alpha1::JobEvent event;
  event.set_step(step);
  return event;
}

void AddStage(v1alpha1::PlanMade* plan, int first, int end, const std::string& first_name,
              const std::string& last_name, int worker) {
  auto* stage = plan->add_stages();
  stage->set_first_layer(first);
  stage->set_end_layer(end);
  stage->set_first_name(first_name);
  stage->set_last_name(last_name);
  stage->add_workers(worker);
}

/// A job of 6 layers in two stages, half done, 3 layers frozen.
JobView HalfDone() {
  JobView view;
  view.facts = {"small", {"conv1", "conv2", "conv3", "conv4", "conv5", "head"}, 4, 100, 400};
  v1alpha1::JobEvent event = At(0);
  event.mutable_state_changed()->set_state(v1alpha1::JobState::Running);
  view.Apply(event);

  event = At(0);
  event.mutable_plan_made()->set_generation(1);
  AddStage(event.mutable_plan_made(), 0, 2, "conv1", "conv2", 0);
  AddStage(event.mutable_plan_made(), 2, 6, "conv3", "head", 1);
  view.Apply(event);

  event = At(150);
  event.mutable_layers_frozen()->mutable_entry()->set_boundary(3);
  event.mutable_layers_frozen()->mutable_entry()->set_frozen_at(150);
  view.Apply(event);

  event = At(200);
  event.mutable_epoch_done()->set_accuracy(0.9);
  view.Apply(event);

  event = At(200);
  event.mutable_stage_times()->set_generation(1);
  event.mutable_stage_times()->set_stage(1);
  event.mutable_stage_times()->set_seconds(10);
  event.mutable_stage_times()->set_forward_seconds(3);
  event.mutable_stage_times()->set_backward_seconds(5);
  event.mutable_stage_times()->set_optimizer_seconds(1);
  view.Apply(event);

  event = At(200);
  event.mutable_progress()->set_loss(0.25);
  event.mutable_progress()->set_samples_per_second(2400);
  event.mutable_progress()->set_step_seconds(0.05);
  event.mutable_progress()->set_seconds_left(72);
  view.Apply(event);
  return view;
}

std::vector<std::string> Texts(const std::vector<StyledLine>& lines) {
  std::vector<std::string> texts;
  for (const StyledLine& line : lines) texts.push_back(line.text);
  return texts;
}

TEST(RenderTest, ShowsProgressNumbersAndStages) {
  EXPECT_THAT(Texts(RenderJob(HalfDone(), 79)),
              ElementsAre("small  Running",
                          "[" + std::string(17, '=') + ">" + std::string(18, ' ') +
                              "] 50 %  step 200/400  epoch 3/4  1:12 left",
                          "loss 0.2500   2,400 samples/s   test accuracy 90.00 %",
                          "  stage 0  conv1..conv2    2 frozen   0 active  busy     -  worker 0",
                          "  stage 1  conv3..head     1 frozen   3 active  busy  90 %  worker 1"));
}

TEST(RenderTest, DimsAStageWithNothingToLearn) {
  const auto lines = RenderJob(HalfDone(), 79);
  EXPECT_EQ(lines[3].style, Style::kDim);
  EXPECT_EQ(lines[4].style, Style::kPlain);
}

TEST(RenderTest, FitsAnyWidth) {
  for (int width : {1, 10, 20, 40, 79, 300}) {
    for (const StyledLine& line : RenderJob(HalfDone(), width)) {
      EXPECT_LE(line.text.size(), width) << line.text;
    }
  }
}

TEST(RenderTest, LeavesOutWholePartsOnANarrowTerminal) {
  EXPECT_THAT(Texts(RenderJob(HalfDone(), 39)),
              ElementsAre("small  Running", "[========>         ] 50 %  step 200/400",
                          "loss 0.2500   2,400 samples/s", "  stage 0  conv1..conv2    2 frozen",
                          "  stage 1  conv3..head     1 frozen"));
}

TEST(RenderTest, BarIsEmptyAtTheStartAndFullAtTheEnd) {
  JobView view = HalfDone();
  view.step = 0;
  EXPECT_THAT(RenderJob(view, 79)[1].text, testing::StartsWith("[        "));
  view.step = 400;
  const std::string bar = RenderJob(view, 79)[1].text;
  EXPECT_THAT(bar, HasSubstr("==] 100 %"));
  EXPECT_THAT(bar, HasSubstr("epoch 4/4"));
  EXPECT_THAT(bar, testing::Not(HasSubstr("left")));
}

TEST(RenderTest, CountsDevicesGivenBack) {
  JobView view = HalfDone();
  v1alpha1::JobEvent event = At(210);
  event.mutable_worker_released()->set_worker(0);
  view.Apply(event);
  EXPECT_THAT(RenderJob(view, 100)[2].text, HasSubstr("1 device given back"));
}

TEST(RenderTest, ARestoreThawsWhatFrozeLater) {
  JobView view = HalfDone();
  EXPECT_EQ(view.Boundary(), 3);
  v1alpha1::JobEvent event = At(120);
  event.mutable_restored()->set_step(120);
  view.Apply(event);
  EXPECT_EQ(view.Boundary(), 0);
}

TEST(RenderTest, IgnoresStageTimesOfAnotherPlan) {
  JobView view = HalfDone();
  v1alpha1::JobEvent event = At(201);
  event.mutable_plan_made()->set_generation(2);
  AddStage(event.mutable_plan_made(), 0, 6, "conv1", "head", 1);
  view.Apply(event);
  event = At(201);
  event.mutable_stage_times()->set_generation(1);
  event.mutable_stage_times()->set_seconds(1);
  view.Apply(event);
  EXPECT_FALSE(view.stages[0].busy.has_value());
}

TEST(ToTerminalTest, ColoursOnlyWhereWanted) {
  const StyledLine line = {"released", Style::kGood};
  EXPECT_EQ(ToTerminal(line, 79, true), "\x1b[32mreleased\x1b[0m");
  EXPECT_EQ(ToTerminal(line, 79, false), "released");
  EXPECT_EQ(ToTerminal(line, 3, true), "\x1b[32mrel\x1b[0m");
}

}  // namespace
}  // namespace freezepipe::cli
