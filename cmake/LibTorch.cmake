# LibTorch from the PyPI wheel of PyTorch (scripts/setup installs it). Its own find_package wants a CUDA toolkit,
# so: small imported targets. What runs on CPU links libtorch_cpu and libc10 alone.
set(FREEZEPIPE_SITE_PACKAGES "" CACHE PATH "site-packages that holds torch and its nvidia packages")
if(NOT FREEZEPIPE_SITE_PACKAGES)
  file(GLOB _site $ENV{HOME}/.cache/freezepipe/venv/lib/python3*/site-packages)
  list(GET _site 0 FREEZEPIPE_SITE_PACKAGES)
endif()
set(_site ${FREEZEPIPE_SITE_PACKAGES})
if(NOT EXISTS ${_site}/torch/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch not found in FREEZEPIPE_SITE_PACKAGES='${_site}': run scripts/setup")
endif()

add_library(LibTorch::cpu INTERFACE IMPORTED)
target_include_directories(LibTorch::cpu SYSTEM INTERFACE
  ${_site}/torch/include ${_site}/torch/include/torch/csrc/api/include)
target_link_libraries(LibTorch::cpu INTERFACE ${_site}/torch/lib/libtorch_cpu.so ${_site}/torch/lib/libc10.so)
target_compile_definitions(LibTorch::cpu INTERFACE USE_DISTRIBUTED USE_C10D USE_C10D_GLOO)
target_link_options(LibTorch::cpu INTERFACE "LINKER:-rpath-link,${_site}/nvidia/cu13/lib")

add_library(LibTorch::cuda INTERFACE IMPORTED)
target_include_directories(LibTorch::cuda SYSTEM INTERFACE
  ${_site}/nvidia/cu13/include ${_site}/nvidia/nccl/include)
target_compile_definitions(LibTorch::cuda INTERFACE USE_C10D_NCCL)
target_link_libraries(LibTorch::cuda INTERFACE LibTorch::cpu
  ${_site}/torch/lib/libtorch_cuda.so ${_site}/torch/lib/libc10_cuda.so)
set(_dirs cu13 cudnn nccl cusparselt nvshmem)
list(TRANSFORM _dirs REPLACE "(.+)" "${_site}/nvidia/\\1/lib")
list(JOIN _dirs ":" _dirs)
target_link_options(LibTorch::cuda INTERFACE "LINKER:-rpath-link,${_dirs}")

set(CMAKE_BUILD_RPATH ${_site}/torch/lib)
# Installed, a program has what it loads in ../lib.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
