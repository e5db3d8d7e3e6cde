#include "operator/cluster/local/local_cluster.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "files/test_folder.h"
#include "operator/cluster/local/child_process.h"
#include "operator/cluster/local/worker_cores.h"

namespace freezepipe::cluster {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// Long enough that only a hang gets there.
constexpr seconds kLimit{60};

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Exits in the order they were called back.
class Exits {
 public:
  struct Exit {
    int worker;
    bool clean;
    std::string why;
  };

  ExitCallback callback() {
    return [this](int worker, WorkerEnd end) {
      std::lock_guard lock(mutex_);
      exits_.push_back({worker, end.clean, std::move(end.why)});
      changed_.notify_all();
    };
  }

  Exit Next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kLimit, [this] { return !exits_.empty(); })) {
      ADD_FAILURE() << "no exit was called back";
      return {};
    }
    Exit exit = exits_.front();
    exits_.pop_front();
    return exit;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Exit> exits_;
};

class LocalClusterTest : public testing::Test {
 protected:
  // Its workers end before their folder is removed.
  ~LocalClusterTest() override { cluster_.reset(); }

  /// Every worker runs this shell script, its number as $1, in the directory of the logs.
  LocalCluster& Run(const std::string& script, int threads = 1) {
    LocalClusterOptions options;
    options.log_directory = directory_;
    options.threads = threads;
    const std::string in_directory = absl::StrCat("cd ", directory_, "; ", script);
    options.command = [=](int worker) {
      return std::vector<std::string>{"/bin/sh", "-c", in_directory, "sh", absl::StrCat(worker)};
    };
    cluster_ = std::make_unique<LocalCluster>(options, exits_.callback());
    return *cluster_;
  }

  /// Waits until the file is there with a line in it.
  std::string AwaitFile(const std::string& name) {
    const int watch = inotify_init1(IN_CLOEXEC);
    inotify_add_watch(watch, directory_.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
    std::string text;
    while ((text = ReadFile(directory_ + "/" + name)).find('\n') == std::string::npos) {
      pollfd polled = {watch, POLLIN, 0};
      char events[4096];
      if (poll(&polled, 1, 60'000) <= 0 || read(watch, events, sizeof events) <= 0) {
        ADD_FAILURE() << name << " was not written";
        break;
      }
    }
    close(watch);
    return text;
  }

  pid_t AwaitPid(const std::string& name) {
    int pid = 0;
    EXPECT_TRUE(absl::SimpleAtoi(AwaitFile(name), &pid));
    return pid;
  }

  std::string Log(int worker) {
    return ReadFile(absl::StrCat(directory_, "/worker-", worker, ".log"));
  }

  const files::TestFolder folder_;
  const std::string directory_ = folder_.path();
  Exits exits_;
  std::unique_ptr<LocalCluster> cluster_;
};

TEST_F(LocalClusterTest, SaysHowAWorkerEnded) {
  LocalCluster& cluster = Run("case $1 in 0) exit 0;; 1) echo out of memory >&2; exit 3;; esac");
  cluster.Launch(0);
  Exits::Exit exit = exits_.Next();
  EXPECT_EQ(exit.worker, 0);
  EXPECT_TRUE(exit.clean);

  cluster.Launch(1);
  exit = exits_.Next();
  EXPECT_EQ(exit.worker, 1);
  EXPECT_FALSE(exit.clean);
  EXPECT_EQ(exit.why, "exit status 3; last log line: out of memory");
}

TEST_F(LocalClusterTest, KillsAWorkerAndWhatItStarted) {
  LocalCluster& cluster = Run("sleep 1000 & echo $! > child; wait");
  cluster.Launch(0);
  const int grandchild = OpenPidFd(AwaitPid("child"));
  ASSERT_GE(grandchild, 0);
  cluster.Kill(0);
  EXPECT_EQ(exits_.Next().why, "killed by signal 9 (SIGKILL)");
  pollfd polled = {grandchild, POLLIN, 0};
  EXPECT_EQ(poll(&polled, 1, 60'000), 1);
  close(grandchild);
}

TEST_F(LocalClusterTest, StartsAKilledWorkerAgainOnceItIsGone) {
  LocalCluster& cluster = Run("if [ -e ran ]; then exit 7; fi; echo $$ > ran; exec sleep 1000");
  cluster.Launch(0);
  AwaitFile("ran");
  cluster.Kill(0);
  cluster.Launch(0);
  EXPECT_EQ(exits_.Next().why, "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(exits_.Next().why, "exit status 7");
}

TEST_F(LocalClusterTest, LeavesARunningWorkerAlone) {
  LocalCluster& cluster = Run("echo $$ > running; exec sleep 1000");
  cluster.Launch(0);
  const pid_t pid = AwaitPid("running");
  cluster.Launch(0);
  EXPECT_FALSE(cluster.WaitUntilEmpty(std::chrono::milliseconds(50)));
  EXPECT_EQ(kill(pid, 0), 0);
  EXPECT_EQ(AwaitPid("running"), pid);
}

TEST_F(LocalClusterTest, KillingNothingDoesNothing) {
  LocalCluster& cluster = Run("exit 0");
  cluster.Kill(5);
  cluster.Launch(0);
  EXPECT_EQ(exits_.Next().worker, 0);
}

TEST_F(LocalClusterTest, KeepsLogsApartAndAppendsToThem) {
  LocalCluster& cluster = Run("echo to stdout of $1; echo to stderr of $1 >&2");
  cluster.Launch(0);
  cluster.Launch(1);
  exits_.Next();
  exits_.Next();
  cluster.Launch(0);
  exits_.Next();

  EXPECT_THAT(Log(1), HasSubstr("to stdout of 1\nto stderr of 1\n"));
  EXPECT_THAT(Log(1), testing::Not(HasSubstr("of 0")));
  const std::string log = Log(0);
  EXPECT_THAT(log, testing::StartsWith("---- "));
  EXPECT_NE(log.find("to stdout of 0"), log.rfind("to stdout of 0")) << log;
  EXPECT_NE(log.find("\n---- "), std::string::npos) << log;
}

TEST_F(LocalClusterTest, PinsWorkersAndLimitsTheirThreads) {
  const std::vector<int> usable = UsableCores();
  LocalCluster& cluster =
      Run("grep Cpus_allowed_list /proc/self/status; echo OMP $OMP_NUM_THREADS");
  const int workers = static_cast<int>(usable.size()) + 1;
  for (int worker = 0; worker < workers; ++worker) cluster.Launch(worker);
  ASSERT_TRUE(cluster.WaitUntilEmpty(kLimit));
  for (int worker = 0; worker < workers; ++worker) {
    const int core = usable[worker % usable.size()];
    EXPECT_THAT(Log(worker), HasSubstr(absl::StrCat("Cpus_allowed_list:\t", core, "\nOMP 1\n")));
  }
}

TEST_F(LocalClusterTest, GivesAWorkerAsManyCoresAsThreads) {
  LocalCluster& cluster = Run("nproc; echo OMP $OMP_NUM_THREADS", 2);
  cluster.Launch(0);
  ASSERT_TRUE(cluster.WaitUntilEmpty(kLimit));
  // nproc itself obeys OMP_NUM_THREADS, so both limits show.
  const size_t cores = std::min<size_t>(2, UsableCores().size());
  EXPECT_THAT(Log(0), HasSubstr(absl::StrCat("\n", cores, "\nOMP 2\n")));
}

TEST_F(LocalClusterTest, RunsWorkersInASessionOfTheirOwnWithNoSignalBlocked) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  LocalCluster& cluster =
      Run("echo $$ $(cut -d' ' -f5,6 /proc/$$/stat); kill -TERM $$; sleep 1000");
  cluster.Launch(0);
  EXPECT_THAT(exits_.Next().why, HasSubstr("killed by signal 15 (SIGTERM)"));
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);

  std::istringstream last(Log(0).substr(Log(0).find('\n') + 1));
  pid_t pid = 0;
  pid_t group = 0;
  pid_t session = 0;
  last >> pid >> group >> session;
  EXPECT_GT(pid, 0);
  EXPECT_EQ(group, pid);
  EXPECT_EQ(session, pid);
}

TEST_F(LocalClusterTest, SaysThatAProgramIsMissing) {
  LocalClusterOptions options;
  options.log_directory = directory_;
  options.command = [](int) { return std::vector<std::string>{"/no/such/program"}; };
  LocalCluster cluster(options, exits_.callback());
  cluster.Launch(0);
  const Exits::Exit exit = exits_.Next();
  EXPECT_FALSE(exit.clean);
  EXPECT_EQ(exit.why, "cannot start /no/such/program: No such file or directory");
}

TEST_F(LocalClusterTest, StartsNothingOnceStopped) {
  LocalCluster& cluster = Run("echo ran > ran");
  cluster.Stop();
  cluster.Launch(0);
  cluster.Kill(0);
  cluster.Stop();
  EXPECT_EQ(ReadFile(directory_ + "/ran"), "");
}

TEST_F(LocalClusterTest, DestructorKillsAndReapsWithoutCallingBack) {
  Run("echo $$ > pid-$1; exec sleep 1000");
  cluster_->Launch(0);
  cluster_->Launch(1);
  const pid_t first = AwaitPid("pid-0");
  const pid_t second = AwaitPid("pid-1");
  cluster_.reset();
  EXPECT_EQ(kill(first, 0), -1);
  EXPECT_EQ(kill(second, 0), -1);
}

TEST_F(LocalClusterTest, WorkersDieWithAParentThatIsKilled) {
  const pid_t parent = fork();
  if (parent == 0) {
    Run("echo $$ > orphan; exec sleep 1000").Launch(0);
    while (true) pause();
  }
  const int worker = OpenPidFd(AwaitPid("orphan"));
  ASSERT_GE(worker, 0);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  pollfd polled = {worker, POLLIN, 0};
  EXPECT_EQ(poll(&polled, 1, 60'000), 1) << "the worker outlived its parent";
  close(worker);
}

}  // namespace
}  // namespace freezepipe::cluster
