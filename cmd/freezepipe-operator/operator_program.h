#pragma once

#include "cmd/freezepipe-operator/options.h"

namespace freezepipe::operator_program {

/// Runs until SIGTERM or SIGINT: a replica that leads, or waits to. The exit status: 0 after a
/// signal, 1 when it can't start or has lost its lease.
int Run(const Options& options);

}  // namespace freezepipe::operator_program
