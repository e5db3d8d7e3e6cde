// The one unit that includes Gloo's headers.
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "worker/transport/backend.h"

namespace freezepipe::worker {
namespace {

c10d::TCPStoreOptions StoreOptions(int port, bool server) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.isServer = server;
  options.waitWorkers = false;
  options.timeout = kGroupTimeout;
  return options;
}

class GlooFactory : public BackendFactory {
 public:
  GlooFactory(const std::string& host, std::chrono::milliseconds timeout)
      : device_(c10d::ProcessGroupGloo::createDeviceForHostname(host)), timeout_(timeout) {}

  c10::intrusive_ptr<c10d::Backend> Make(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                         int size) override {
    auto options = c10d::ProcessGroupGloo::Options::create(timeout_);
    options->devices.push_back(device_);
    options->threads = 1;
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options);
  }
  at::Device device() const override { return at::kCPU; }

 private:
  // One for all groups: each has a thread that wakes up every 10 ms.
  const std::shared_ptr<::gloo::transport::Device> device_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace

StoreServer::StoreServer(const std::string& host) {
  auto store = c10::make_intrusive<c10d::TCPStore>(host, StoreOptions(0, true));
  port_ = store->getPort();
  store_ = std::move(store);
}

c10::intrusive_ptr<c10d::Store> ConnectStore(const std::string& host, int port,
                                             const std::string& prefix) {
  return c10::make_intrusive<c10d::PrefixStore>(
      prefix, c10::make_intrusive<c10d::TCPStore>(host, StoreOptions(port, false)));
}

std::unique_ptr<BackendFactory> MakeGlooFactory(const std::string& host,
                                                std::chrono::milliseconds timeout) {
  return std::make_unique<GlooFactory>(host, timeout);
}

}  // namespace freezepipe::worker
