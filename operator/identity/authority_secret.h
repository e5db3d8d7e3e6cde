#pragma once

#include <absl/status/statusor.h>

#include "operator/identity/certificates.h"
#include "operator/kube/client.h"

namespace freezepipe::identity {

inline constexpr kube::Resource kSecrets{"", "v1", "secrets"};

/// The authority that all replicas of the operator share, now and later: from the Secret (type
/// kubernetes.io/tls), which is made if there is none; when two replicas try at once, both get the
/// one that was first. FAILED_PRECONDITION: there is a Secret that can't be used, and why.
absl::StatusOr<PemIdentity> LoadOrMakeAuthority(kube::Client& client,
                                                const kube::ObjectKey& secret);

}  // namespace freezepipe::identity
