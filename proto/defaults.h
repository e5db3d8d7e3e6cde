#pragma once

#include <google/protobuf/message.h>

namespace freezepipe {

/// Fills in every absent field that job.proto gives a default, into nested messages too: what the
/// API server does to a FreezePipeJob, for manifests that never met one.
void ApplyDefaults(google::protobuf::Message* message);

}  // namespace freezepipe
