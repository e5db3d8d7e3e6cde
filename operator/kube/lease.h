#pragma once

#include <cstdint>
#include <string>

#include "operator/kube/object.h"

namespace freezepipe::kube {

/// The spec of a coordination.k8s.io/v1 Lease.
struct LeaseSpec {
  /// Empty: nobody.
  std::string holder;
  int64_t duration_seconds = 0;
  /// MicroTime, by the holder's clock: compared, never reckoned with.
  std::string acquired;
  std::string renewed;
  /// How often the holder has changed.
  int64_t transitions = 0;

  bool operator==(const LeaseSpec&) const = default;
};

LeaseSpec ReadLease(const Json& lease);
/// As the field "spec" of a Lease or of a merge patch.
Json LeaseSpecJson(const LeaseSpec& spec);

}  // namespace freezepipe::kube
