#pragma once

#include <string>

#include "operator/kube/client.h"

namespace freezepipe::operator_program {

/// Makes the coordinator's Service, which has no selector, lead to this pod alone: what the leader
/// does first. `service` is in the operator's namespace.
absl::Status PointServiceAt(kube::Client& client, const kube::ObjectKey& service,
                            const std::string& pod_ip, int port);

}  // namespace freezepipe::operator_program
