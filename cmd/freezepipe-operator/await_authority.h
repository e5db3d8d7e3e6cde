#pragma once

#include <functional>
#include <memory>

#include "operator/identity/authority_secret.h"
#include "operator/kube/time.h"
#include "operator/kube/transport.h"

namespace freezepipe::operator_program {

/// identity::LoadOrMakeAuthority, again and again while the API server is away. Between two tries
/// `pause` waits; false: there is to be no other, which is kCancelled.
absl::StatusOr<identity::PemIdentity> AwaitAuthority(
    const std::shared_ptr<kube::Transport>& transport, const kube::ObjectKey& secret,
    const std::function<bool(kube::Duration)>& pause);

}  // namespace freezepipe::operator_program
