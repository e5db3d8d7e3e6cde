#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/cli_fixture.h"

namespace freezepipe::cli {
namespace {

TEST_F(CliTest, EveryExampleIsValid) {
  int examples = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(FREEZEPIPE_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    if (text.str().find("kind: FreezePipeJob") == std::string::npos) continue;
    ++examples;
    const Outcome outcome = Run({"validate", entry.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  EXPECT_GE(examples, 8);
}

}  // namespace
}  // namespace freezepipe::cli
