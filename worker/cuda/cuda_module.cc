#include "worker/cuda/cuda_module.h"

#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace freezepipe::worker {
namespace {

class NcclFactory : public BackendFactory {
 public:
  explicit NcclFactory(int device) : device_(static_cast<c10::DeviceIndex>(device)) {}

  c10::intrusive_ptr<c10d::Backend> Make(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                         int size) override {
    c10::cuda::set_device(device_);
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = kGroupTimeout;
    auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
    group->setBoundDeviceId(c10::Device(c10::kCUDA, device_));
    return group;
  }
  at::Device device() const override { return {at::kCUDA, device_}; }

 private:
  const c10::DeviceIndex device_;
};

std::unique_ptr<BackendFactory> MakeBackend(int device) {
  // A failed group is the coordinator's business: never tear the process down for it.
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "2", /*overwrite=*/0);  // CleanUpOnly
  return std::make_unique<NcclFactory>(device);
}

int DeviceCount() { return c10::cuda::device_count(); }

int64_t MemoryBytes(int device) {
  return static_cast<int64_t>(
      at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device))->totalGlobalMem);
}

}  // namespace
}  // namespace freezepipe::worker

extern "C" __attribute__((visibility("default")))
const freezepipe::worker::CudaModule freezepipe_cuda_module = {
    .device_count = freezepipe::worker::DeviceCount,
    .memory_bytes = freezepipe::worker::MemoryBytes,
    .make_backend = freezepipe::worker::MakeBackend,
};
