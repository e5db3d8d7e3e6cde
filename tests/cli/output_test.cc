#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/cli_fixture.h"

namespace freezepipe::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(CliTest, AFileInPlaceOfTheOutputFolderIsRefused) {
  AddWorker();
  WriteManifest();
  Write("taken", "mine");
  Outcome outcome = Run({"run", "job.yaml", "--output", "taken"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("taken is not a folder"));

  outcome = Run({"run", "job.yaml", "--output", "taken/below"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cannot make the folder taken"));
  EXPECT_EQ(Read("taken"), "mine");
}

TEST_F(CliTest, AFolderThatCannotBeWrittenIsSaidAndLeavesNothing) {
  AddWorker();
  WriteManifest();
  // Nobody can make a folder there, root neither.
  const Outcome outcome = Run({"run", "job.yaml", "--output", "/proc/freezepipe/run"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cannot make the folder /proc/freezepipe"));
  EXPECT_THAT(Files(), ElementsAre("job.yaml"));
}

TEST_F(CliTest, AFullDiskIsSaidAndLeavesNothing) {
  AddWorker();
  WriteManifest();
  const std::string disk = Path("disk");
  std::filesystem::create_directory(disk);
  if (mount("freezepipe-test", disk.c_str(), "tmpfs", 0, "size=8k") != 0) {
    GTEST_SKIP() << "no permission to mount a small file system";
  }
  Write("disk/filler", std::string(8192, 'x'));
  const Outcome outcome = Run({"run", "job.yaml", "--output", "disk/run"});
  const std::vector<std::string> files = Files();
  umount(disk.c_str());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("disk/run"), HasSubstr("No space left on device")));
  EXPECT_THAT(files, ElementsAre("disk", "disk/filler", "job.yaml"));
}

TEST_F(CliTest, AnEarlierRunIsNotOverwritten) {
  AddWorker();
  WriteManifest();
  Write("freezepipe-output/small/summary.json", "precious");
  const Outcome outcome = Run({"run", "job.yaml"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("freezepipe-output/small already holds a run"),
                                 HasSubstr("--resume"), HasSubstr("--output")));
  EXPECT_EQ(Read("freezepipe-output/small/summary.json"), "precious");
  EXPECT_THAT(Files(), ElementsAre("freezepipe-output", "freezepipe-output/small",
                                   "freezepipe-output/small/summary.json", "job.yaml"));
}

TEST_F(CliTest, ResumeNeedsARunWhoseCheckpointCanBeRead) {
  AddWorker();
  WriteManifest();
  Outcome outcome = Run({"run", "job.yaml", "--resume"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("holds no run to resume"));

  Write("freezepipe-output/small/manifest.yaml", Read("job.yaml"));
  Write("freezepipe-output/small/checkpoints/step-00000004/checkpoint.json", "{");
  outcome = Run({"run", "job.yaml", "--resume"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cannot resume the run in freezepipe-output/small"));
}

TEST_F(CliTest, ResumeGoesOnFromTheNewestCheckpointThatIsNotDamaged) {
  AddWorker();
  WriteManifest();
  Write("out/manifest.yaml", Read("job.yaml"));
  Write("out/checkpoints/step-00000004/checkpoint.json", R"({"step": 4})");
  Write("out/checkpoints/step-00000008/checkpoint.json", R"({"step": 8})");
  Write("out/checkpoints/step-00000008/damage", "layer-0001.safetensors: truncated\n");
  Write("out/checkpoints/step-00000012/checkpoint.json", "{");
  const Outcome outcome = Run({"run", "job.yaml", "--output", "out", "--resume"});
  EXPECT_EQ(outcome.exit_code, 1) << "its worker can't train: " << outcome.err;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("warning: damaged checkpoint left out: out/checkpoints/"
                              "step-00000012/checkpoint.json"),
                    HasSubstr("warning: damaged checkpoint left out: layer-0001.safetensors: "
                              "truncated; going on from the one of step 4\n")));
  EXPECT_THAT(outcome.out, HasSubstr("failed at step 4 of 20"));
}

TEST_F(CliTest, ResumeRefusesAtOnceWhenEveryCheckpointIsDamaged) {
  AddWorker();
  WriteManifest();
  Write("out/manifest.yaml", Read("job.yaml"));
  Write("out/checkpoints/step-00000008/checkpoint.json", R"({"step": 8})");
  Write("out/checkpoints/step-00000008/damage", "layer-0001.safetensors: truncated\n");
  const Outcome outcome = Run({"run", "job.yaml", "--output", "out", "--resume"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "freezepipe: error: cannot resume the run in out: every checkpoint is damaged: "
            "layer-0001.safetensors: truncated\n");
  EXPECT_THAT(Files(), testing::Not(Contains("out/events.jsonl")));
}

TEST_F(CliTest, ResumingACompleteRunChangesNothing) {
  AddWorker();
  WriteManifest();
  Write("out/manifest.yaml", Read("job.yaml"));
  Write("out/status.json", R"({"state": "Succeeded"})");
  Write("out/model.safetensors", "weights");
  Write("out/summary.json", R"({"workers": 2})");
  Write("out/events.jsonl", "");
  const std::vector<std::string> files = Files();
  const Outcome outcome = Run({"run", "job.yaml", "--output", "out", "--resume", "--workers", "1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "the run in out is already complete: nothing to resume\n");
  EXPECT_EQ(Files(), files);
  EXPECT_EQ(Read("out/summary.json"), R"({"workers": 2})");
  EXPECT_EQ(Read("out/manifest.yaml"), Read("job.yaml"));
}

TEST_F(CliTest, ResumeRefusesAnotherJobAndNamesTheField) {
  AddWorker();
  WriteManifest();
  Write("out/manifest.yaml", Read("job.yaml"));
  const Outcome outcome =
      Run({"run", "job.yaml", "--output", "out", "--resume", "--set", "training.epochs=7"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("spec.training.epochs changed from 2 to 7"));
}

TEST_F(CliTest, APortInUseIsSaidAndNothingIsWritten) {
  AddWorker();
  WriteManifest();
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  socklen_t size = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string port = std::to_string(ntohs(address.sin_port));

  const Outcome outcome = Run({"run", "job.yaml", "--port", port});
  close(listener);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "freezepipe: error: cannot listen on 127.0.0.1:" + port +
                             ": the port is in use or the address is not this machine's\n");
  EXPECT_THAT(Files(), ElementsAre("job.yaml"));
}

TEST_F(CliTest, AJobWhoseWorkersAlwaysDieFailsWithSummaryAndLogs) {
  AddWorker("echo no memory left >&2; exit 3");
  WriteManifest();
  const Outcome outcome = Run({"run", "job.yaml", "--output", "out", "--set", "training.seed=5"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("exit status 3; last log line: no memory left"));
  EXPECT_THAT(outcome.out, HasSubstr("failed at step 0 of 20"));
  EXPECT_THAT(Read("out/logs/worker-0.log"), HasSubstr("no memory left"));
  EXPECT_THAT(Read("out/manifest.yaml"), HasSubstr("seed: 5"));
  EXPECT_THAT(Files(), Contains("out/events.jsonl"));
  EXPECT_THAT(Files(), testing::Not(Contains("out/model.safetensors")));

  const auto summary = nlohmann::json::parse(Read("out/summary.json"));
  EXPECT_EQ(summary["state"], "Failed");
  EXPECT_EQ(summary["job"], "small");
  EXPECT_EQ(summary["workers"], 2);
  EXPECT_EQ(summary["accuracy"], 0);
  EXPECT_FALSE(summary["message"].get<std::string>().empty());
  EXPECT_EQ(nlohmann::json::parse(Read("out/status.json"))["state"], "Failed");
}

TEST_F(CliTest, TheManifestOfARunIsValidAgain) {
  AddWorker();
  WriteManifest("    template:\n      metadata:\n        labels: {\"yes\": \"true\"}\n");
  Run({"run", "job.yaml", "--output", "out", "--workers", "3"});
  const Outcome outcome = Run({"validate", "out/manifest.yaml"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << Read("out/manifest.yaml");
  EXPECT_THAT(Read("out/manifest.yaml"), HasSubstr("count: 3"));
}

}  // namespace
}  // namespace freezepipe::cli
