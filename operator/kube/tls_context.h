#pragma once

#include <boost/asio/ssl/context.hpp>

#include "operator/kube/cluster_config.h"

namespace freezepipe::kube {

/// Puts the configuration's authorities (in place of the system's), client certificate and key into
/// `context`. Throws boost::system::system_error when one is damaged.
void ConfigureTls(const ClusterConfig& config, boost::asio::ssl::context& context);

}  // namespace freezepipe::kube
