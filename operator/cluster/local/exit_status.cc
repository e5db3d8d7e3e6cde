#include "operator/cluster/local/exit_status.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <sys/wait.h>

#include <cstring>

namespace freezepipe::cluster {

std::string DescribeWaitStatus(int wait_status) {
  if (WIFEXITED(wait_status)) return absl::StrCat("exit status ", WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(signal);
  if (name == nullptr) return absl::StrCat("killed by signal ", signal);
  return absl::StrCat("killed by signal ", signal, " (SIG", name, ")");
}

std::string LastLine(const std::string& text) {
  const std::string trimmed(absl::StripAsciiWhitespace(text));
  return std::string(absl::StripLeadingAsciiWhitespace(trimmed.substr(trimmed.rfind('\n') + 1)));
}

}  // namespace freezepipe::cluster
