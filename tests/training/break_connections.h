#pragma once

#include <sys/types.h>

namespace freezepipe::training {

/// Shuts every TCP connection of a process of this machine down, as a network that fails for a
/// moment would. Returns how many there were.
int BreakConnections(pid_t pid);

}  // namespace freezepipe::training
