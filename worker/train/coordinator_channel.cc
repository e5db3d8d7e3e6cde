#include "worker/train/coordinator_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace freezepipe::worker {
namespace {

/// A coordinator's machine that says nothing for so long is asked, and given up without an answer
/// after as long again, milliseconds.
constexpr int kKeepAlive = 10'000;
/// Connecting takes so long at most, milliseconds: an address that nobody has any more may not
/// answer at all.
constexpr int kConnectLimit = 5'000;

/// An order that tells all windows of a long job can be large, bytes.
constexpr int kLargestOrder = 1 << 28;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

CoordinatorAddress AddressFromEnvironment(std::string target) {
  CoordinatorAddress address = {.target = std::move(target),
                                .authority = Variable("FREEZEPIPE_COORDINATOR_CA"),
                                .token_file = Variable("FREEZEPIPE_TOKEN_FILE")};
  if (!address.token_file.empty() && address.authority.empty()) {
    throw std::runtime_error(
        "FREEZEPIPE_TOKEN_FILE is set without FREEZEPIPE_COORDINATOR_CA: the token would go to "
        "whoever answers");
  }
  return address;
}

std::shared_ptr<grpc::Channel> MakeChannel(const CoordinatorAddress& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestOrder);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAlive);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAlive);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectLimit);
  if (address.authority.empty()) {
    return grpc::CreateCustomChannel(address.target, grpc::InsecureChannelCredentials(), arguments);
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = address.authority;
  return grpc::CreateCustomChannel(address.target, grpc::SslCredentials(options), arguments);
}

bool ShowToken(const CoordinatorAddress& address, grpc::ClientContext* context) {
  if (address.token_file.empty()) return true;
  std::string token;
  // gRPC doesn't send it where the channel has no TLS.
  if (!(std::ifstream(address.token_file) >> token)) return false;
  context->set_credentials(grpc::AccessTokenCredentials(token));
  return true;
}

}  // namespace freezepipe::worker
