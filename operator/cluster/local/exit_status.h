#pragma once

#include <string>

namespace freezepipe::cluster {

/// A wait status in words: "exit status 3", "killed by signal 9 (SIGKILL)".
std::string DescribeWaitStatus(int wait_status);

/// The last line of `text` that has more than blanks, trimmed; empty when there is none.
std::string LastLine(const std::string& text);

}  // namespace freezepipe::cluster
