#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <string>

#include "operator/kube/client.h"

namespace freezepipe::trial {

struct Options {
  kube::Duration limit = std::chrono::minutes(5);
  kube::Duration poll_period = std::chrono::seconds(1);
};

/// Creates the job, in place of one of its name, waits for its end and deletes it, telling of every
/// change. An error says why it didn't come to a good end; the job then stays to be looked at.
absl::Status Try(kube::Client& client, const kube::Json& job, const Options& options,
                 absl::FunctionRef<void(const std::string& line)> tell);

}  // namespace freezepipe::trial
