#include "operator/cluster/local/child_process.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace freezepipe::cluster {
namespace {

std::vector<std::string> MergedEnvironment(const std::vector<std::string>& changes) {
  std::vector<std::string> merged = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    const bool changed =
        std::any_of(changes.begin(), changes.end(),
                    [&](const std::string& change) { return absl::StartsWith(change, name); });
    if (!changed) merged.push_back(text);
  }
  return merged;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// All that the child needs after fork, made before it: there it may not allocate.
struct Prepared {
  char** arguments;
  char** environment;
  int input_fd;
  int output_fd;
  int error_fd;
  int exec_error_fd;
  pid_t parent;
  cpu_set_t* cores;  // null for no limit
  size_t cores_bytes;
};

/// Runs in the forked child; only async-signal-safe calls.
[[noreturn]] void Become(const Prepared& prepared) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the kernel knew about the signal.
  if (getppid() != prepared.parent) _exit(127);
  setsid();
  if (prepared.cores != nullptr) sched_setaffinity(0, prepared.cores_bytes, prepared.cores);
  dup2(prepared.input_fd, STDIN_FILENO);
  dup2(prepared.output_fd, STDOUT_FILENO);
  dup2(prepared.error_fd, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(prepared.arguments[0], prepared.arguments, prepared.environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(prepared.exec_error_fd, &error, sizeof error);
  _exit(127);
}

absl::Status SystemError(const std::string& what, int error) {
  return absl::InternalError(absl::StrCat(what, ": ", strerror(error)));
}

}  // namespace

absl::StatusOr<pid_t> StartChild(const ChildProcess& child) {
  const std::vector<std::string> environment = MergedEnvironment(child.environment);
  std::vector<char*> arguments = Pointers(child.arguments);
  std::vector<char*> environment_pointers = Pointers(environment);

  cpu_set_t* cores = nullptr;
  size_t cores_bytes = 0;
  if (!child.cores.empty()) {
    const int capacity = *std::max_element(child.cores.begin(), child.cores.end()) + 1;
    cores = CPU_ALLOC(capacity);
    cores_bytes = CPU_ALLOC_SIZE(capacity);
    CPU_ZERO_S(cores_bytes, cores);
    for (int core : child.cores) CPU_SET_S(core, cores_bytes, cores);
  }

  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) {
    if (cores != nullptr) CPU_FREE(cores);
    return SystemError("pipe", errno);
  }
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

  const auto or_null = [null_fd](int fd) { return fd < 0 ? null_fd : fd; };
  const Prepared prepared = {arguments.data(),
                             environment_pointers.data(),
                             or_null(child.input_fd),
                             or_null(child.output_fd),
                             or_null(child.error_fd),
                             error_pipe[1],
                             getpid(),
                             cores,
                             cores_bytes};
  const pid_t pid = fork();
  if (pid == 0) Become(prepared);
  const int fork_error = errno;
  close(error_pipe[1]);
  close(null_fd);
  if (cores != nullptr) CPU_FREE(cores);

  int exec_error = 0;
  // Ends without a byte once exec has closed the pipe.
  const ssize_t received = pid < 0 ? 0 : read(error_pipe[0], &exec_error, sizeof exec_error);
  close(error_pipe[0]);
  if (pid < 0) return SystemError("fork", fork_error);
  if (received == sizeof exec_error) {
    waitpid(pid, nullptr, 0);
    return SystemError(absl::StrCat("cannot start ", child.arguments[0]), exec_error);
  }
  return pid;
}

int OpenPidFd(pid_t pid) {
  // glibc 2.36 declares pidfd_open without C linkage.
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

}  // namespace freezepipe::cluster
