#include "cmd/freezepipe-operator/api_server_wait.h"

#include <chrono>
#include <string>

#include "cmd/freezepipe-operator/log.h"
#include "operator/identity/authority_secret.h"
#include "operator/kube/client.h"

namespace freezepipe::operator_program {
namespace {

constexpr std::chrono::seconds kAnswerLimit{5};
constexpr std::chrono::seconds kPause{2};

bool IsAway(const absl::Status& error) {
  return absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error);
}

}  // namespace

bool WaitForApiServer(const std::shared_ptr<kube::Transport>& transport,
                      const kube::ObjectKey& secret,
                      const std::function<bool(kube::Duration)>& pause) {
  kube::Client client(transport, {.timeout = kAnswerLimit});
  while (true) {
    const absl::Status answer = client.Get(identity::kSecrets, secret).status();
    if (!IsAway(answer)) return true;
    LogWarning(std::string(answer.message()));
    if (!pause(kPause)) return false;
  }
}

}  // namespace freezepipe::operator_program
