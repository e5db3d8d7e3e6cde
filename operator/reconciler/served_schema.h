#pragma once

#include <absl/status/status.h>

#include <string>
#include <vector>

#include "operator/kube/client.h"

namespace freezepipe::reconciler {

/// Fields of a job's status, by path, that this definition of FreezePipeJob (a
/// CustomResourceDefinition) lacks.
std::vector<std::string> MissingStatusFields(const kube::Json& definition);

/// The API server keeps every field of a job's status: it drops, without a word, what an older
/// definition doesn't have, and the durable record with it. kFailedPrecondition says what is
/// missing; where the definition may not be read nothing is known against it.
absl::Status CheckServedSchema(kube::Client& client);

}  // namespace freezepipe::reconciler
