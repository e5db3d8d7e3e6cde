#include "cmd/freezepipe-operator/log.h"

#include <absl/strings/str_cat.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "operator/kube/time.h"

namespace freezepipe::operator_program {
namespace {

void Log(std::string_view level, std::string_view text) {
  const std::string line = absl::StrCat(kube::MicroTime(std::chrono::system_clock::now()), " ",
                                        std::string(level), " ", std::string(text), "\n");
  // One call, so that lines of several threads don't mix.
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void LogInfo(std::string_view text) { Log("INFO", text); }
void LogWarning(std::string_view text) { Log("WARNING", text); }

}  // namespace freezepipe::operator_program
