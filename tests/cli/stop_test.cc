#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/cli_fixture.h"

namespace freezepipe::cli {
namespace {

class StopTest : public CliTest {
 protected:
  /// Starts a run whose two workers never attach; returns once both are there.
  pid_t StartRun() {
    for (const char* name : {"worker-0", "worker-1", "go-0", "go-1"}) {
      mkfifo(Path(name).c_str(), 0644);
    }
    // Arguments: train --coordinator ADDRESS --worker N ...
    AddWorker("echo $$ > worker-$5; exec cat go-$5");
    WriteManifest();
    const pid_t run = Start({"run", "job.yaml", "--output", "out"});
    // Opening a FIFO waits for its writer.
    for (const char* name : {"worker-0", "worker-1"}) workers_.push_back(std::stoi(Read(name)));
    return run;
  }

  /// Waits until the program has printed the text.
  void AwaitOutput(const std::string& text) {
    while (Read("../out").find(text) == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  void ExpectWorkersGone() {
    for (pid_t worker : workers_) EXPECT_EQ(kill(worker, 0), -1) << worker;
  }

  std::vector<pid_t> workers_;
};

TEST_F(StopTest, CtrlCStopsWithASummary) {
  const pid_t run = StartRun();
  kill(run, SIGINT);
  AwaitOutput("stopping after this step");
  // The workers end by themselves, as they do when they are told to exit.
  for (const char* name : {"go-0", "go-1"}) Write(name, "\n");
  const Outcome outcome = Wait(run);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(Read("out/summary.json"))["state"], "Stopped");
  ExpectWorkersGone();
}

TEST_F(StopTest, ASecondCtrlCStopsAtOnce) {
  const pid_t run = StartRun();
  kill(run, SIGINT);
  AwaitOutput("stopping after this step");
  kill(run, SIGTERM);
  const Outcome outcome = Wait(run);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  const auto summary = nlohmann::json::parse(Read("out/summary.json"));
  EXPECT_EQ(summary["state"], "Stopped");
  EXPECT_THAT(outcome.out, testing::Not(testing::HasSubstr("with a checkpoint")));
  EXPECT_EQ(summary["message"],
            "stopped at once, before the first checkpoint: --resume starts over");
  ExpectWorkersGone();
}

}  // namespace
}  // namespace freezepipe::cli
