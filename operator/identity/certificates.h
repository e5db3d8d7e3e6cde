#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <string>
#include <vector>

#include "operator/kube/time.h"

namespace freezepipe::identity {

/// A certificate and its private key, as PEM.
struct PemIdentity {
  std::string certificate;
  std::string key;
};

/// A new authority (ECDSA P-256), valid for ten years.
absl::StatusOr<PemIdentity> MakeAuthority(kube::WallTime now);

/// Whether certificates can be issued by it: FAILED_PRECONDITION says in words what is wrong.
absl::Status CheckAuthority(const PemIdentity& authority, kube::WallTime now);

/// A new key, and a certificate of it for a server that is dialled by these DNS names.
absl::StatusOr<PemIdentity> IssueLeaf(const PemIdentity& authority,
                                      const std::vector<std::string>& dns_names, kube::WallTime now,
                                      std::chrono::seconds lifetime);

}  // namespace freezepipe::identity
