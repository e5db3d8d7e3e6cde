#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace freezepipe::worker {

/// Longest wait for a peer.
constexpr std::chrono::seconds kGroupTimeout{60};

/// The store that every worker hosts for the generations whose lead it is, on any free port of the
/// host.
class StoreServer {
 public:
  explicit StoreServer(const std::string& host);
  int port() const { return port_; }

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  int port_;
};

/// A client of another worker's store, all of whose keys begin with `prefix`.
c10::intrusive_ptr<c10d::Store> ConnectStore(const std::string& host, int port,
                                             const std::string& prefix);

/// Makes the c10d backends of one kind of device.
class BackendFactory {
 public:
  virtual ~BackendFactory() = default;
  /// Keys of the store must be this group's alone.
  virtual c10::intrusive_ptr<c10d::Backend> Make(const c10::intrusive_ptr<c10d::Store>& store,
                                                 int rank, int size) = 0;
  /// Where the tensors of its groups live.
  virtual at::Device device() const = 0;
};

/// Gloo, listening on `host`: CPU tensors. `timeout`: of every wait for a peer that doesn't name
/// its own limit.
std::unique_ptr<BackendFactory> MakeGlooFactory(const std::string& host,
                                                std::chrono::milliseconds timeout = kGroupTimeout);

}  // namespace freezepipe::worker
