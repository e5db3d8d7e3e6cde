#include "cmd/freezepipe/manifest_input.h"

#include <absl/strings/str_cat.h>

#include <filesystem>
#include <iostream>

#include "cmd/freezepipe/messages.h"
#include "cmd/freezepipe/view/text.h"
#include "operator/manifest/manifest.h"

namespace freezepipe::cli {
namespace {

/// False when there are any.
bool PrintFaults(const std::string& path, const std::vector<ManifestFault>& faults) {
  for (const ManifestFault& fault : faults) std::cerr << ToString(fault) << "\n";
  if (faults.empty()) return true;
  PrintError(absl::StrCat(path, " has ", Counted(static_cast<int>(faults.size()), "fault")));
  return false;
}

}  // namespace

std::optional<v1alpha1::FreezePipeJob> ReadJob(const std::string& path,
                                               const std::vector<std::string>& sets) {
  Manifest manifest = ReadManifest(path, sets);
  if (!PrintFaults(path, manifest.faults)) return std::nullopt;
  return std::move(manifest.job);
}

bool CheckFaults(const std::string& path, const v1alpha1::JobDescription& description) {
  for (const auto& warning : description.warnings()) {
    PrintWarning(absl::StrCat(warning.path(), ": ", warning.message()));
  }
  std::vector<ManifestFault> faults;
  for (const auto& fault : description.faults()) faults.push_back({fault.path(), fault.message()});
  return PrintFaults(path, faults);
}

std::string JobName(const v1alpha1::FreezePipeJob& job, const std::string& path) {
  const auto& metadata = job.metadata().fields();
  const auto name = metadata.find("name");
  if (name != metadata.end() && !name->second.string_value().empty()) {
    return name->second.string_value();
  }
  return std::filesystem::path(path).stem();
}

}  // namespace freezepipe::cli
