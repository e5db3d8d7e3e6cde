#include "cmd/freezepipe/program.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "operator/cluster/local/child_process.h"
#include "operator/cluster/local/exit_status.h"

namespace freezepipe::cli {
namespace {

/// Most of a program's stderr that goes into an error message, bytes; its end says what went wrong.
constexpr size_t kErrorTail = 2000;

/// A file in memory: takes any amount without a reader at the other end.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content = "")
      : fd_(memfd_create("freezepipe", MFD_CLOEXEC)) {
    size_t done = 0;
    while (done < content.size()) {
      const ssize_t written = write(fd_, content.data() + done, content.size() - done);
      if (written <= 0) break;
      done += written;
    }
    lseek(fd_, 0, SEEK_SET);
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }

  std::string Read() const {
    std::string text(lseek(fd_, 0, SEEK_END), '\0');
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t got =
          pread(fd_, text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (got <= 0) break;
      done += got;
    }
    return text;
  }

 private:
  const int fd_;
};

}  // namespace

absl::StatusOr<std::string> RunProgram(const Program& program) {
  const MemoryFile input(program.input);
  const MemoryFile output;
  const MemoryFile errors;
  cluster::ChildProcess child;
  child.arguments = program.arguments;
  child.environment = program.environment;
  child.input_fd = input.fd();
  child.output_fd = output.fd();
  child.error_fd = errors.fd();
  const absl::StatusOr<pid_t> pid = cluster::StartChild(child);
  if (!pid.ok()) return pid.status();

  int status = 0;
  waitpid(*pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output.Read();
  std::string said(absl::StripAsciiWhitespace(errors.Read()));
  if (said.size() > kErrorTail) said = "..." + said.substr(said.size() - kErrorTail);
  std::string name = program.arguments[0];
  if (program.arguments.size() > 1) absl::StrAppend(&name, " ", program.arguments[1]);
  return absl::InternalError(absl::StrCat(name, ": ", cluster::DescribeWaitStatus(status),
                                          said.empty() ? "" : ": ", said));
}

}  // namespace freezepipe::cli
