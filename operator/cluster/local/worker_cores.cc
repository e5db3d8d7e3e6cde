#include "operator/cluster/local/worker_cores.h"

#include <sched.h>

#include <cstddef>

namespace freezepipe::cluster {

std::vector<int> UsableCores() {
  std::vector<int> cores;
  // The kernel refuses a set smaller than its own: grow until it fits.
  for (int capacity = 1024; cores.empty() && capacity <= 1 << 20; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    const size_t bytes = CPU_ALLOC_SIZE(capacity);
    if (sched_getaffinity(0, bytes, set) == 0) {
      for (int core = 0; core < capacity; ++core) {
        if (CPU_ISSET_S(core, bytes, set)) cores.push_back(core);
      }
    }
    CPU_FREE(set);
  }
  return cores;
}

std::vector<int> CoresOfWorker(int worker, int threads, const std::vector<int>& usable) {
  if (threads >= static_cast<int>(usable.size())) return usable;
  std::vector<int> cores;
  for (int i = 0; i < threads; ++i) {
    const size_t turn = static_cast<size_t>(worker) * threads + i;
    cores.push_back(usable[turn % usable.size()]);
  }
  return cores;
}

}  // namespace freezepipe::cluster
