#include "operator/cluster/local/local_cluster.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/time/clock.h>
#include <absl/time/time.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "operator/cluster/local/child_process.h"
#include "operator/cluster/local/exit_status.h"
#include "operator/cluster/local/worker_cores.h"

namespace freezepipe::cluster {
namespace {

/// Longest end of a log that is searched for its last line, bytes.
constexpr size_t kLogTail = 4096;

std::string ReadTail(const std::string& path, size_t start) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  struct stat info;
  std::string tail;
  if (fstat(fd, &info) == 0 && static_cast<size_t>(info.st_size) > start) {
    const size_t size = info.st_size;
    const size_t from = std::max(start, size - std::min(size, kLogTail));
    tail.resize(size - from);
    const ssize_t got = pread(fd, tail.data(), tail.size(), static_cast<off_t>(from));
    tail.resize(got > 0 ? got : 0);
  }
  close(fd);
  return tail;
}

}  // namespace

LocalCluster::LocalCluster(LocalClusterOptions options, ExitCallback on_exit)
    : options_(std::move(options)),
      on_exit_(std::move(on_exit)),
      usable_cores_(UsableCores()),
      wake_fd_(eventfd(0, EFD_CLOEXEC)) {
  // The thread's own signal mask: signals belong to other threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LocalCluster::~LocalCluster() {
  Stop();
  close(wake_fd_);
}

void LocalCluster::Stop() {
  if (!thread_.joinable()) return;
  Post({Command::Kind::kShutDown});
  thread_.join();
}

void LocalCluster::Launch(int worker) { Post({Command::Kind::kLaunch, worker}); }

void LocalCluster::Kill(int worker) { Post({Command::Kind::kKill, worker}); }

bool LocalCluster::WaitUntilEmpty(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return emptied_.wait_for(lock, timeout, [this] { return empty_; });
}

void LocalCluster::Post(Command command) {
  {
    std::lock_guard lock(mutex_);
    commands_.push_back(command);
    empty_ = false;
  }
  eventfd_write(wake_fd_, 1);
}

void LocalCluster::Loop() {
  while (CarryOutCommands()) {
    {
      std::lock_guard lock(mutex_);
      empty_ = children_.empty() && commands_.empty();
      if (empty_) emptied_.notify_all();
    }
    std::vector<pollfd> polled = {{wake_fd_, POLLIN, 0}};
    std::vector<int> workers;
    for (const auto& [worker, child] : children_) {
      polled.push_back({child.pid_fd, POLLIN, 0});
      workers.push_back(worker);
    }
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[0].revents != 0) {
      eventfd_t ignored;
      eventfd_read(wake_fd_, &ignored);
    }
    for (size_t i = 0; i < workers.size(); ++i) {
      if (polled[i + 1].revents != 0) Reap(workers[i]);
    }
  }
  ShutDown();
}

bool LocalCluster::CarryOutCommands() {
  while (true) {
    Command command;
    {
      std::lock_guard lock(mutex_);
      if (commands_.empty()) return true;
      command = commands_.front();
      commands_.pop_front();
    }
    switch (command.kind) {
      case Command::Kind::kLaunch:
        Start(command.worker);
        break;
      case Command::Kind::kKill:
        Signal(command.worker);
        break;
      case Command::Kind::kShutDown:
        return false;
    }
  }
}

void LocalCluster::Start(int worker) {
  if (auto running = children_.find(worker); running != children_.end()) {
    running->second.launch_again = running->second.killed;
    return;
  }
  ChildProcess process;
  process.arguments = options_.command(worker);
  process.environment = {absl::StrCat("OMP_NUM_THREADS=", options_.threads)};
  process.cores = CoresOfWorker(worker, options_.threads, usable_cores_);
  const int log = open(LogPath(worker).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log < 0) {
    on_exit_(worker,
             {.why = absl::StrCat("cannot write ", LogPath(worker), ": ", strerror(errno))});
    return;
  }
  dprintf(log, "---- %s worker %d on cores %s: %s\n",
          absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::LocalTimeZone()).c_str(), worker,
          absl::StrJoin(process.cores, ",").c_str(), absl::StrJoin(process.arguments, " ").c_str());

  process.output_fd = log;
  process.error_fd = log;

  Child child;
  child.log_start = lseek(log, 0, SEEK_END);
  const absl::StatusOr<pid_t> pid = StartChild(process);
  close(log);
  if (!pid.ok()) {
    on_exit_(worker, {.why = std::string(pid.status().message())});
    return;
  }
  child.pid = *pid;
  child.pid_fd = OpenPidFd(child.pid);
  children_[worker] = child;
}

void LocalCluster::Signal(int worker) {
  auto found = children_.find(worker);
  if (found == children_.end()) return;
  found->second.killed = true;
  // The child leads its own process group; it is not reaped yet, so the number is still its own.
  kill(-found->second.pid, SIGKILL);
}

void LocalCluster::Reap(int worker) {
  const Child child = children_.at(worker);
  int status = 0;
  waitpid(child.pid, &status, 0);
  close(child.pid_fd);
  children_.erase(worker);

  const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::string why = DescribeWaitStatus(status);
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  const std::string last_line = LastLine(ReadTail(LogPath(worker), child.log_start));
  if (!clean && !killed && !last_line.empty())
    absl::StrAppend(&why, "; last log line: ", last_line);
  on_exit_(worker, {.clean = clean, .why = std::move(why)});
  if (child.launch_again) Start(worker);
}

void LocalCluster::ShutDown() {
  for (const auto& [worker, child] : children_) Signal(worker);
  for (const auto& [worker, child] : children_) {
    waitpid(child.pid, nullptr, 0);
    close(child.pid_fd);
  }
}

std::string LocalCluster::LogPath(int worker) const {
  return absl::StrCat(options_.log_directory, "/worker-", worker, ".log");
}

}  // namespace freezepipe::cluster
