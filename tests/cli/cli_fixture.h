#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "files/test_folder.h"

namespace freezepipe::cli {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// A temporary folder with the program, its own current folder, and as much of a worker as a test
/// asks for.
class CliTest : public testing::Test {
 protected:
  CliTest();

  /// Puts a freezepipe-worker beside the program: a shell script whose `describe` prints a network
  /// of four layers, whose `devices` prints "cpu", whose `check` prints the file "damage" of the
  /// checkpoint, if it has one, and whose `train` runs `train`.
  void AddWorker(const std::string& train = "exit 3", const std::string& faults = "[]");

  Outcome Run(const std::vector<std::string>& arguments);
  pid_t Start(const std::vector<std::string>& arguments);
  Outcome Wait(pid_t pid);

  /// A path in the current folder of the program.
  std::string Path(const std::string& name) const { return work_ + "/" + name; }
  std::string Read(const std::string& name) const;
  void Write(const std::string& name, const std::string& content) const;
  /// Writes a good manifest, "job.yaml", with lines added at its end.
  void WriteManifest(const std::string& more = "") const;
  /// Names in the program's current folder, sorted.
  std::vector<std::string> Files() const;

  const files::TestFolder folder_;
  const std::string root_ = folder_.path();
  const std::string bin_ = root_ + "/bin";
  const std::string work_ = root_ + "/work";
};

}  // namespace freezepipe::cli
