#include "tests/cli/cli_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace freezepipe::cli {

namespace fs = std::filesystem;

namespace {

std::string ReadWhole(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

constexpr char kManifest[] = R"(apiVersion: freezepipe.io/v1alpha1
kind: FreezePipeJob
metadata:
  name: small
spec:
  model:
    zoo:
      name: mlp
  dataset:
    format: Mnist
    path: data
  training:
    epochs: 2
  worker:
    count: 2
)";

}  // namespace

CliTest::CliTest() {
  fs::create_directory(bin_);
  fs::create_directory(work_);
  // The program looks beside itself for the worker, so it must stand where the test says what is
  // beside it.
  fs::copy(FREEZEPIPE_BIN_DIR "/freezepipe", bin_ + "/freezepipe");
}

void CliTest::AddWorker(const std::string& train, const std::string& faults) {
  const std::string path = bin_ + "/freezepipe-worker";
  std::ofstream(path) << "#!/bin/sh\ncase $1 in\ndescribe) cat > /dev/null; cat <<'END'\n"
                      << R"({"layers": [{"name": "fc1"}, {"name": "fc2"}, {"name": "fc3"},
                           {"name": "head"}], "classes": 10, "trainSamples": "1280",
                           "testSamples": "100", "stepsPerEpoch": 10, "faults": )"
                      << faults << "}\nEND\n;;\ndevices) echo cpu;;\n"
                      << "check) test ! -e $3/damage || cat $3/damage;;\ntrain) " << train
                      << ";;\n*) exit 9;;\nesac\n";
  chmod(path.c_str(), 0755);
}

pid_t CliTest::Start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {bin_ + "/freezepipe"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // Only the shell's own programs: no freezepipe-worker of this machine.
  std::string path = "PATH=/usr/bin:/bin";
  char* environment[] = {path.data(), nullptr};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, work_.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  const int create = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 1, (root_ + "/out").c_str(), create, 0644);
  posix_spawn_file_actions_addopen(&actions, 2, (root_ + "/err").c_str(), create, 0644);

  // Whoever runs the tests in the background may have these ignored.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, pointers[0], &actions, &attributes, pointers.data(), environment), 0);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

Outcome CliTest::Wait(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  Outcome outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  outcome.out = ReadWhole(root_ + "/out");
  outcome.err = ReadWhole(root_ + "/err");
  return outcome;
}

Outcome CliTest::Run(const std::vector<std::string>& arguments) { return Wait(Start(arguments)); }

std::string CliTest::Read(const std::string& name) const { return ReadWhole(Path(name)); }

void CliTest::Write(const std::string& name, const std::string& content) const {
  fs::create_directories(fs::path(Path(name)).parent_path());
  std::ofstream(Path(name)) << content;
}

void CliTest::WriteManifest(const std::string& more) const { Write("job.yaml", kManifest + more); }

std::vector<std::string> CliTest::Files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(work_)) {
    names.push_back(fs::relative(entry.path(), work_));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace freezepipe::cli
