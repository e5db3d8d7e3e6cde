#pragma once

namespace freezepipe::cli {

/// What the program's exit status means, to people and scripts.
enum ExitCode {
  kDone = 0,
  /// The job started and failed.
  kJobFailed = 1,
  /// Nothing started: bad manifest, data, options or set-up.
  kBadInput = 2,
  /// Stopped by Ctrl-C, SIGTERM or the end of the terminal.
  kStopped = 130,
};

}  // namespace freezepipe::cli
