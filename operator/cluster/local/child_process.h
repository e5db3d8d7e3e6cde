#pragma once

#include <absl/status/statusor.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace freezepipe::cluster {

struct ChildProcess {
  /// The program's path, then its arguments.
  std::vector<std::string> arguments;
  /// "NAME=value", in place of this process's own value of that name.
  std::vector<std::string> environment;
  /// What it reads and writes; -1 for /dev/null.
  int input_fd = -1;
  int output_fd = -1;
  int error_fd = -1;
  /// Cores it may run on; empty for no limit.
  std::vector<int> cores;
};

/// Starts the program in a session of its own (Ctrl-C in the terminal does not reach it) and has
/// the kernel kill it when the *calling thread* ends, by whatever death: call it from a thread that
/// lives as long as the child may. The error names the program when it can't be executed.
absl::StatusOr<pid_t> StartChild(const ChildProcess& child);

/// A descriptor that polls readable once the process has ended; -1 when there is no such process.
int OpenPidFd(pid_t pid);

}  // namespace freezepipe::cluster
