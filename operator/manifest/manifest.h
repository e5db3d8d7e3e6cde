#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe {

/// Something in a manifest that isn't as it should be.
struct ManifestFault {
  /// Where: "spec.freeze.manual[0].boundary"; empty for the manifest as a whole.
  std::string path;
  /// What was expected, and what stands there.
  std::string message;

  bool operator==(const ManifestFault&) const = default;
};

/// "path: message", or the message alone where the whole manifest is meant.
std::string ToString(const ManifestFault& fault);

struct Manifest {
  /// Defaults applied, file paths as written. Only to be used when there are no faults.
  v1alpha1::FreezePipeJob job;
  /// All of them, by path.
  std::vector<ManifestFault> faults;
};

/// Reads a FreezePipeJob from YAML (or JSON). Each of `sets` is "path=value" and overrides one
/// value before anything is checked: the path as faults give it, "spec." may be left out, an index
/// one past a list's end appends; the value is YAML, and nothing at all means the default.
Manifest LoadManifest(std::string_view yaml, const std::vector<std::string>& sets = {});

/// LoadManifest of a file; that it can't be read is a fault.
Manifest ReadManifest(const std::string& path, const std::vector<std::string>& sets = {});

}  // namespace freezepipe
