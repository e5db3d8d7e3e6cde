#include "operator/kube/read_file.h"

#include <absl/strings/str_cat.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace freezepipe::kube {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || file.bad()) {
    return absl::ErrnoToStatus(errno == 0 ? EIO : errno, absl::StrCat("cannot read ", path));
  }
  return std::move(text).str();
}

}  // namespace freezepipe::kube
