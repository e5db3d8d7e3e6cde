#include "cmd/freezepipe/worker_program.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cmd/freezepipe/program.h"
#include "operator/report/json.h"

namespace freezepipe::cli {
namespace {

constexpr char kName[] = "freezepipe-worker";

/// Runs `subcommand` with the spec as its input and reads the message it answers.
absl::Status Ask(const std::string& path, const std::string& subcommand,
                 const v1alpha1::FreezePipeJobSpec& spec, google::protobuf::Message* answer) {
  Program program;
  program.arguments = {path, subcommand};
  program.input = report::ToJson(spec, report::JsonLayout::kOneLine);
  program.environment = {absl::StrCat("OMP_NUM_THREADS=", spec.worker().threads())};
  const absl::StatusOr<std::string> output = RunProgram(program);
  if (!output.ok()) return output.status();
  const absl::Status read = report::FromJson(*output, answer);
  if (read.ok()) return read;
  return absl::InternalError(
      absl::StrCat(path, " ", subcommand, ": its answer is not understood: ", read.message()));
}

}  // namespace

absl::StatusOr<WorkerProgram> WorkerProgram::Find() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / kName;
  if (access(beside.c_str(), X_OK) == 0) return WorkerProgram(beside);
  const char* search_path = std::getenv("PATH");
  const std::string folders = search_path == nullptr ? "" : search_path;
  for (const std::string& folder : std::vector<std::string>(absl::StrSplit(folders, ':'))) {
    const fs::path candidate = fs::path(folder) / kName;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return WorkerProgram(candidate);
  }
  return absl::NotFoundError(absl::StrCat("the program ", kName, " was not found: looked for ",
                                          beside.string(), ", then in PATH (", folders, ")"));
}

absl::StatusOr<v1alpha1::JobDescription> WorkerProgram::Describe(
    const v1alpha1::FreezePipeJobSpec& spec) const {
  v1alpha1::JobDescription description;
  const absl::Status asked = Ask(path_, "describe", spec, &description);
  if (!asked.ok()) return asked;
  return description;
}

absl::StatusOr<v1alpha1::ModelProfile> WorkerProgram::Profile(
    const v1alpha1::FreezePipeJobSpec& spec) const {
  v1alpha1::ModelProfile profile;
  const absl::Status asked = Ask(path_, "profile", spec, &profile);
  if (!asked.ok()) return asked;
  return profile;
}

absl::StatusOr<std::vector<std::string>> WorkerProgram::Devices() const {
  const absl::StatusOr<std::string> output = RunProgram({{path_, "devices"}, "", {}});
  if (!output.ok()) return output.status();
  return absl::StrSplit(*output, '\n', absl::SkipWhitespace());
}

absl::StatusOr<std::string> WorkerProgram::Check(const std::string& checkpoint) const {
  const auto output = RunProgram({{path_, "check", "--checkpoint", checkpoint}, "", {}});
  if (!output.ok()) return output.status();
  return std::string(absl::StripAsciiWhitespace(*output));
}

absl::Status WorkerProgram::Export(const std::string& checkpoint, const std::string& output) const {
  return RunProgram({{path_, "export", "--checkpoint", checkpoint, "--output", output}, "", {}})
      .status();
}

std::vector<std::string> WorkerProgram::TrainArguments(int port, const std::string& job, int worker,
                                                       const std::string& device) const {
  return {path_,           "train",
          "--coordinator", absl::StrCat("127.0.0.1:", port),
          "--worker",      absl::StrCat(worker),
          "--job",         job,
          "--host",        "127.0.0.1",
          "--device",      device};
}

}  // namespace freezepipe::cli
