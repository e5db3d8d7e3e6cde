#include <gmock/gmock.h>

#include "tests/cli/cli_fixture.h"

namespace freezepipe::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(CliTest, HelpShowsCommandsExamplesAndExitCodes) {
  const Outcome help = Run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("run"), HasSubstr("validate"), HasSubstr("plan"),
                              HasSubstr("describe"), HasSubstr("Examples:"),
                              HasSubstr("130 stopped by Ctrl-C")));
  EXPECT_THAT(help.err, IsEmpty());
  for (const char* command : {"run", "validate", "plan", "describe"}) {
    const Outcome of_command = Run({command, "--help"});
    EXPECT_EQ(of_command.exit_code, 0) << command;
    EXPECT_THAT(of_command.out, AllOf(HasSubstr("--set"), HasSubstr("Example"))) << command;
  }
}

TEST_F(CliTest, VersionIsOneLine) {
  const Outcome version = Run({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, testing::MatchesRegex("freezepipe [0-9.]+\n"));
}

TEST_F(CliTest, WrongUsageExitsWith2) {
  const Outcome nothing = Run({});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("validate"));
  const Outcome mistyped = Run({"fly"});
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_THAT(mistyped.err, HasSubstr("fly"));
  EXPECT_EQ(Run({"run"}).exit_code, 2);
  EXPECT_EQ(Run({"run", "job.yaml", "--fast"}).exit_code, 2);
  EXPECT_EQ(Run({"run", "job.yaml", "--workers", "0"}).exit_code, 2);
  EXPECT_EQ(Run({"run", "job.yaml", "--device", "tpu"}).exit_code, 2);
  EXPECT_EQ(Run({"run", "job.yaml", "--port", "70000"}).exit_code, 2);
}

TEST_F(CliTest, ValidateSaysThatAManifestIsValid) {
  WriteManifest();
  const Outcome outcome = Run({"validate", "job.yaml"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "job.yaml is valid\n");
}

TEST_F(CliTest, AllFaultsAreReportedAtOnceAndNothingIsWritten) {
  AddWorker();
  WriteManifest("  pipelin:\n    stages: 2\n");
  for (const char* command : {"validate", "run"}) {
    const Outcome outcome =
        Run({command, "job.yaml", "--set", "training.epochs=-1", "--set", "model.zoo.name=lenet"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("spec.training.epochs: "), HasSubstr("spec.pipelin"),
                                   HasSubstr("spec.model.zoo.name: "), HasSubstr("3 faults")));
  }
  EXPECT_THAT(Files(), ElementsAre("job.yaml"));
}

TEST_F(CliTest, AMissingManifestIsNamed) {
  const Outcome outcome = Run({"run", "nowhere.yaml"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("nowhere.yaml"));
}

TEST_F(CliTest, SetTakesOneValueEachTime) {
  WriteManifest();
  const Outcome outcome = Run({"validate", "--set", "training.epochs=3", "job.yaml"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(CliTest, AMissingWorkerIsSaidWithWhereItWasLookedFor) {
  WriteManifest();
  const Outcome outcome = Run({"run", "job.yaml"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("freezepipe-worker was not found"),
                    HasSubstr(bin_ + "/freezepipe-worker"), HasSubstr("PATH (/usr/bin:/bin)")));
  EXPECT_THAT(Files(), ElementsAre("job.yaml"));
}

TEST_F(CliTest, WhatTheWorkerFindsWrongIsReportedLikeFaultsOfTheManifest) {
  AddWorker("exit 3", R"([{"path": "spec.dataset.path", "message": "no such folder: data"},
                         {"path": "spec.pipeline.stages", "message": "more than layers"}])");
  WriteManifest();
  const Outcome outcome = Run({"run", "job.yaml"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("spec.dataset.path: no such folder: data\n"),
                                 HasSubstr("spec.pipeline.stages: more than layers\n")));
  EXPECT_THAT(Files(), ElementsAre("job.yaml"));
}

TEST_F(CliTest, AWorkerThatCannotDescribeIsQuoted) {
  WriteManifest();
  AddWorker();
  // A wrong file in the worker's place: the shell says so on stderr.
  Write("../bin/freezepipe-worker", "#!/bin/sh\necho cannot load libtorch >&2\nexit 127\n");
  const Outcome outcome = Run({"run", "job.yaml"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("freezepipe-worker describe: exit status 127: cannot load libtorch"));
}

TEST_F(CliTest, CudaWithoutADeviceIsSaid) {
  AddWorker();
  WriteManifest();
  const Outcome outcome = Run({"run", "job.yaml", "--device", "cuda"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("no CUDA device found"));
  EXPECT_THAT(Files(), ElementsAre("job.yaml"));
}

TEST_F(CliTest, DescribePrintsTheLayers) {
  AddWorker();
  WriteManifest();
  const Outcome outcome = Run({"describe", "job.yaml"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("fc1"), HasSubstr("head"), HasSubstr("10 classes"),
                                 HasSubstr("1,280 training")));
}

TEST_F(CliTest, PlanReadsASavedProfile) {
  WriteManifest();
  Write("profile.json", R"({"microBatchSize": 32, "device": "cpu", "layers": [
    {"name": "fc1", "forwardSeconds": 0.01, "backwardSeconds": 0.02},
    {"name": "fc2", "forwardSeconds": 0.01, "backwardSeconds": 0.02},
    {"name": "fc3", "forwardSeconds": 0.01, "backwardSeconds": 0.02},
    {"name": "head", "forwardSeconds": 0.01, "backwardSeconds": 0.02}]})");
  const Outcome outcome =
      Run({"plan", "job.yaml", "--profile", "profile.json", "--boundary", "0", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("fc1"), HasSubstr("head")));

  const Outcome beyond = Run({"plan", "job.yaml", "--profile", "profile.json", "--boundary", "4"});
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_THAT(beyond.err, testing::Not(IsEmpty()));
}

TEST_F(CliTest, PlanRefusesWhatIsNoProfile) {
  WriteManifest();
  Write("profile.json", "{}");
  const Outcome empty = Run({"plan", "job.yaml", "--profile", "profile.json"});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, HasSubstr("profile.json holds no profile"));
  EXPECT_EQ(Run({"plan", "job.yaml", "--profile", "nowhere.json"}).exit_code, 2);
}

}  // namespace
}  // namespace freezepipe::cli
