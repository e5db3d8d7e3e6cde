#include "cmd/freezepipe/view/event_line.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

namespace freezepipe::cli {
namespace {

JobView View() {
  JobView view;
  view.facts = {"small", {"conv1", "conv2", "conv3", "head"}, 4, 100, 400};
  return view;
}

/// The line that the event, in JSON, gets.
std::string Line(const std::string& json, JobView view = View(),
                 Detail detail = Detail::kEventsAndWindows) {
  v1alpha1::JobEvent event;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &event).ok()) << json;
  view.Apply(event);
  const auto line = DescribeEvent(event, view, detail);
  return line ? line->text : "";
}

TEST(EventLineTest, SaysWhichLayersFreezeAndWhen) {
  EXPECT_EQ(
      Line(R"({"time": 65, "freezeChosen": {"entry":
                {"chosenAt": 90, "frozenAt": 110, "boundary": 2, "why": "P 0.31"}}})"),
      "   1:05  chosen at step 90, to freeze at step 110: layers up to conv2 (2 of 4): P 0.31");
  EXPECT_EQ(Line(R"({"layersFrozen": {"entry": {"frozenAt": 110, "boundary": 2}}})"),
            "   0:00  frozen at step 110: layers up to conv2 (2 of 4)");
  EXPECT_EQ(Line(R"({"freezeMissed": {"entry": {"frozenAt": 110, "boundary": 2}}})"),
            "   0:00  chosen too late, without effect: layers up to conv2 (2 of 4), to freeze at "
            "step 110");
}

TEST(EventLineTest, SaysWhatARepartitionCost) {
  EXPECT_EQ(Line(R"({"repartitionDone": {"step": 120, "from": [1, 1, 2], "to": [2, 2],
                "stallSeconds": 0.0426, "bytesMoved": 1500000, "bytesMovedEarly": 1000,
                "why": "boundary 2"}})"),
            "   0:00  repartitioned at step 120: 1+1+2 -> 2+2 layers, stood still 0.043 s, moved "
            "1.5 MB (1.0 kB of it while training): boundary 2");
}

TEST(EventLineTest, NamesEachStageOfAPlan) {
  const std::string plan = R"({"planMade": {"generation": 2, "stages": [
                {"firstLayer": 0, "endLayer": 3, "workers": [0, 2], "firstName": "conv1",
                 "lastName": "conv3"},
                {"firstLayer": 3, "endLayer": 4, "workers": [1], "firstName": "head",
                 "lastName": "head"}]}})";
  EXPECT_EQ(Line(plan),
            "   0:00  plan 2, 2 stages: conv1..conv3 on workers 0,2 | head on worker 1");
}

TEST(EventLineTest, SaysWhatBecomesOfWorkers) {
  EXPECT_EQ(Line(R"({"step": 121, "workerReleased": {"worker": 0}})"),
            "   0:00  released at step 121: worker 0 gave its device back");
  EXPECT_EQ(Line(R"({"workerLost": {"worker": 2, "why": "exit status 3"}})"),
            "   0:00  worker 2 lost: exit status 3");
  EXPECT_EQ(Line(R"({"restored": {"step": 80, "stepsLost": 1, "source": "Checkpoint"}})"),
            "   0:00  going on from step 80 (1 step again), state from Checkpoint");
}

TEST(EventLineTest, SaysThatTheCacheIsTooSlow) {
  EXPECT_EQ(Line(R"({"cacheGivenUp": {"worker": 1, "level": 2, "readSeconds": 0.0034,
                "computedSeconds": 0.002}})"),
            "   0:00  worker 1 computes the outputs of layers up to conv2 again: 2 ms a sample, to "
            "read them from the cache takes 3.4 ms");
}

TEST(EventLineTest, SaysHowAnEpochWent) {
  EXPECT_EQ(Line(R"({"epochDone": {"epoch": 2, "accuracy": 0.9134, "loss": 0.25,
                "trainingLoss": 0.125}})"),
            "   0:00  epoch 2/4  test accuracy 91.34 %  test loss 0.2500  training loss 0.1250");
}

TEST(EventLineTest, AWindowTellsTheNewestProgressWhereThereIsNoLiveView) {
  JobView view = View();
  const std::string window = R"({"time": 9, "step": 125, "windowDone": {}})";
  EXPECT_EQ(Line(window, view), "   0:09  step 125/400  epoch 2/4");
  view.progress.set_step_seconds(0.05);
  view.progress.set_loss(0.5);
  view.progress.set_samples_per_second(2400);
  view.progress.set_seconds_left(200);
  EXPECT_EQ(Line(window, view),
            "   0:09  step 125/400  epoch 2/4  loss 0.5000  2,400 samples/s  3:20 left");
  EXPECT_EQ(Line(window, view, Detail::kEvents), "");
}

TEST(EventLineTest, ProgressAndStageTimesGetNoLine) {
  EXPECT_EQ(Line(R"({"progress": {"loss": 1}})"), "");
  EXPECT_EQ(Line(R"({"stageTimes": {"stage": 0}})"), "");
}

}  // namespace
}  // namespace freezepipe::cli
