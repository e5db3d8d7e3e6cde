#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <string>

namespace freezepipe::worker {

/// Where the coordinator is, what it is known by, and what this worker is known by.
struct CoordinatorAddress {
  /// HOST:PORT.
  std::string target;
  /// PEM of the authority that its certificate, for HOST, is verified by; empty: in the clear.
  std::string authority{};
  /// Holds the token that is shown to it; empty: none is. Needs an authority.
  std::string token_file{};
};

/// Takes authority and token file from the environment: FREEZEPIPE_COORDINATOR_CA (PEM text) and
/// FREEZEPIPE_TOKEN_FILE. Throws std::runtime_error when there is a token without an authority: it
/// would go to whoever answers.
CoordinatorAddress AddressFromEnvironment(std::string target);

/// A channel of its own, connected when it is used.
std::shared_ptr<grpc::Channel> MakeChannel(const CoordinatorAddress& address);

/// Lets the call show the token, as it stands in its file now. False: it can't be read.
bool ShowToken(const CoordinatorAddress& address, grpc::ClientContext* context);

}  // namespace freezepipe::worker
