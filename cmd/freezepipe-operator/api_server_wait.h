#pragma once

#include <functional>
#include <memory>

#include "operator/kube/object.h"
#include "operator/kube/time.h"
#include "operator/kube/transport.h"

namespace freezepipe::operator_program {

/// Reads an object until the API server says something of it, whatever that is. Between two tries
/// `pause` waits; false: it doesn't want another, and neither does the caller.
bool WaitForApiServer(const std::shared_ptr<kube::Transport>& transport,
                      const kube::ObjectKey& secret,
                      const std::function<bool(kube::Duration)>& pause);

}  // namespace freezepipe::operator_program
