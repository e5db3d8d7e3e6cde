#pragma once

#include <vector>

namespace freezepipe::cluster {

/// Cores that this process may run on, ascending.
std::vector<int> UsableCores();

/// The `threads` cores of a worker: the usable ones are dealt out in turn, and from the first again
/// when they run out. All of them when a worker wants more than there are.
std::vector<int> CoresOfWorker(int worker, int threads, const std::vector<int>& usable);

}  // namespace freezepipe::cluster
