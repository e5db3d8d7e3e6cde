#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "worker/cuda/cuda_module.h"

namespace freezepipe::worker {

const CudaModule& LoadCudaModule() {
  static const CudaModule& module = [&]() -> const CudaModule& {
    const auto path = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() /
                      "lib" / "libfreezepipe_cuda.so";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      throw std::runtime_error(std::string("no CUDA support: ") + dlerror());
    }
    const void* symbol = dlsym(library, kCudaModuleSymbol);
    if (symbol == nullptr) {
      throw std::runtime_error("no CUDA support: " + path.string() + " is not FreezePipe's module");
    }
    return *static_cast<const CudaModule*>(symbol);
  }();
  return module;
}

}  // namespace freezepipe::worker
