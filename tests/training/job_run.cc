#include "tests/training/job_run.h"

#include <ATen/ops/equal.h>
#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "worker/checkpoint/layer_state.h"
#include "worker/data/test_files.h"

namespace freezepipe::training {
namespace {

namespace fs = std::filesystem;
using google::protobuf::util::JsonStringToMessage;

std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string ManifestOf(const v1alpha1::FreezePipeJobSpec& spec) {
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(spec, &json);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return R"({"apiVersion": "freezepipe.io/v1alpha1", "kind": "FreezePipeJob", )"
         R"("metadata": {"name": "test"}, "spec": )" +
         json + "}";
}

pid_t Spawn(const fs::path& folder, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {FREEZEPIPE_BIN_DIR "/freezepipe", "run",
                                    (folder / "job.json").string(), "--output",
                                    (folder / "output").string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int file = open((folder / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  return pid;
}

}  // namespace

JobRun::JobRun(const fs::path& folder, const v1alpha1::FreezePipeJobSpec& spec,
               const std::vector<std::string>& arguments)
    : folder_(folder) {
  fs::create_directories(folder_);
  worker::WriteFile(folder_ / "job.json", ManifestOf(spec));
  pid_ = Spawn(folder_, arguments);
}

JobRun::~JobRun() {
  if (Ended()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool JobRun::Ended() const {
  if (status_ == -1) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  }
  return status_ != -1;
}

pid_t JobRun::WorkerPid(int number) const {
  pid_t found = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string line = ReadText(entry.path() / "cmdline");
    for (char& c : line) c = c == '\0' ? ' ' : c;
    std::istringstream stat(ReadText(entry.path() / "stat"));
    std::string pid, program, state;
    pid_t parent = 0;
    stat >> pid >> program >> state >> parent;
    if (parent == pid_ && state != "Z" &&
        line.find("--worker " + std::to_string(number) + " ") != std::string::npos) {
      found = std::max<pid_t>(found, std::stoi(name));
    }
  }
  return found;
}

std::vector<v1alpha1::JobEvent> JobRun::Events() const {
  std::vector<v1alpha1::JobEvent> events;
  std::istringstream lines(ReadText(folder_ / "output" / "events.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    v1alpha1::JobEvent event;
    if (JsonStringToMessage(line, &event).ok())
      events.push_back(event);  // the last may be half written
  }
  return events;
}

v1alpha1::JobEvent JobRun::Await(const std::function<bool(const v1alpha1::JobEvent&)>& fits) const {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (std::chrono::steady_clock::now() < limit) {
    const bool ended = Ended();
    for (const auto& event : Events()) {
      if (fits(event)) return event;
    }
    if (ended) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ADD_FAILURE() << "awaited event did not come\n" << ReadText(folder_ / "log");
  return {};
}

void JobRun::Signal(int signal) const { kill(pid_, signal); }

RunResult JobRun::Finish() {
  if (!Ended()) {
    waitpid(pid_, &status_, 0);
  }
  RunResult result;
  result.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  result.output = ReadText(folder_ / "log");
  result.events = Events();
  for (const auto& event : result.events) {
    if (event.has_window_done())
      result.losses[event.window_done().step()] = event.window_done().loss();
  }
  const auto output = folder_ / "output";
  if (fs::exists(output / "summary.json")) {
    const auto status = JsonStringToMessage(ReadText(output / "summary.json"), &result.summary);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  if (fs::exists(output / "model.safetensors")) {
    for (auto& [name, tensor] : worker::ReadSafetensors(output / "model.safetensors")) {
      result.weights[name] = tensor;
    }
  }
  return result;
}

RunResult RunJob(const fs::path& folder, const v1alpha1::FreezePipeJobSpec& spec,
                 const std::vector<std::string>& arguments) {
  return JobRun(folder, spec, arguments).Finish();
}

v1alpha1::FreezePipeJobSpec SmallJob(const fs::path& data, int samples) {
  fs::create_directories(data);
  worker::WriteMnist(data, samples, /*gzip=*/false);
  v1alpha1::FreezePipeJobSpec spec;
  spec.mutable_model()->mutable_zoo()->set_name(v1alpha1::ZooModel::vgg11_bn);
  spec.mutable_model()->mutable_zoo()->set_width_multiplier(0.0625);
  spec.mutable_model()->mutable_zoo()->set_dropout(0.2);
  spec.mutable_dataset()->set_format(v1alpha1::DatasetFormat::Mnist);
  spec.mutable_dataset()->set_path(data.string());
  auto& training = *spec.mutable_training();
  training.set_epochs(2);
  training.set_batch_size(18);
  training.set_seed(3);
  training.mutable_optimizer()->set_learning_rate(0.02);
  training.mutable_optimizer()->set_weight_decay(5e-4);
  spec.mutable_freeze()->set_policy(v1alpha1::FreezePolicy::None);
  spec.mutable_freeze()->set_windows_per_epoch(1000);
  spec.mutable_worker()->set_count(1);
  return spec;
}

void ExpectSameLosses(const std::map<int, double>& actual, const std::map<int, double>& expected) {
  for (const auto& [step, loss] : expected) {
    const auto found = actual.find(step);
    if (found == actual.end()) {
      ADD_FAILURE() << "no loss of step " << step;
    } else {
      EXPECT_EQ(found->second, loss) << "at step " << step;
    }
  }
  EXPECT_EQ(actual.size(), expected.size());
}

void ExpectEpochLosses(const v1alpha1::Summary& summary, const std::map<int, double>& losses) {
  auto loss = losses.begin();
  for (const auto& epoch : summary.epochs()) {
    double sum = 0;
    int steps = 0;
    for (; loss != losses.end() && loss->first <= epoch.step(); ++loss, ++steps)
      sum += loss->second;
    EXPECT_DOUBLE_EQ(epoch.training_loss(), sum / steps) << "epoch " << epoch.epoch();
  }
  EXPECT_EQ(loss, losses.end());
}

void ExpectSameWeights(const Weights& actual, const Weights& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    const auto found = actual.find(name);
    ASSERT_NE(found, actual.end()) << name;
    EXPECT_TRUE(at::equal(found->second, tensor)) << name << " differs";
  }
}

}  // namespace freezepipe::training
