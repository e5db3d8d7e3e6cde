#include "cmd/freezepipe-operator/await_authority.h"

#include <chrono>
#include <string>

#include "cmd/freezepipe-operator/log.h"

namespace freezepipe::operator_program {
namespace {

constexpr std::chrono::seconds kAnswerLimit{5};
constexpr std::chrono::seconds kPause{2};

bool IsAway(const absl::Status& error) {
  return absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error);
}

}  // namespace

absl::StatusOr<identity::PemIdentity> AwaitAuthority(
    const std::shared_ptr<kube::Transport>& transport, const kube::ObjectKey& secret,
    const std::function<bool(kube::Duration)>& pause) {
  kube::Client client(transport, {.timeout = kAnswerLimit});
  while (true) {
    auto authority = identity::LoadOrMakeAuthority(client, secret);
    if (!IsAway(authority.status())) return authority;
    LogWarning(std::string(authority.status().message()));
    if (!pause(kPause)) return absl::CancelledError("stopped");
  }
}

}  // namespace freezepipe::operator_program
