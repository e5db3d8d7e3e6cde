#pragma once

#include <memory>

#include "worker/transport/backend.h"

namespace freezepipe::worker {

/// What libfreezepipe_cuda.so offers. The worker itself links no CUDA: it loads the module, and
/// with it LibTorch's CUDA side, only when a CUDA device is asked for, before the first tensor is
/// made.
struct CudaModule {
  /// CUDA devices of this machine; 0 also without a driver.
  int (*device_count)();
  int64_t (*memory_bytes)(int device);
  /// NCCL groups on that device. Throws std::runtime_error.
  std::unique_ptr<BackendFactory> (*make_backend)(int device);
};

/// The module's one exported symbol, of type `const CudaModule`.
constexpr char kCudaModuleSymbol[] = "freezepipe_cuda_module";

/// Loads the module from beside this program (../lib). Throws std::runtime_error saying what is
/// missing.
const CudaModule& LoadCudaModule();

}  // namespace freezepipe::worker
