#pragma once

#include <grpcpp/client_context.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "freezepipe/v1alpha1/coordinator.pb.h"

namespace freezepipe::worker {

/// A worker's stream to its coordinator: opened anew with back-off whenever it breaks, messages
/// kept meanwhile (bounded). Thread-safe.
class CoordinatorClient {
 public:
  using MakeHello = std::function<v1alpha1::Hello()>;
  using OnOrder = std::function<void(const v1alpha1::Order&)>;

  /// `on_order` is called from the client's thread, one order at a time.
  CoordinatorClient(std::string target, MakeHello make_hello, OnOrder on_order);
  ~CoordinatorClient();

  /// Opens the stream; called once.
  void Start();

  /// Returns at once. What says where the worker stands (Prepared, Switched, Settled, the newest
  /// CheckpointWritten, Finished, Failure) is said again on every new stream, in this order, since
  /// the old one may have lost it.
  void Send(v1alpha1::WorkerMessage message);

  /// Waits until everything was handed to the network, or the time is up.
  void Flush(std::chrono::seconds limit);

 private:
  void Run(std::stop_token stop);
  void Attach(std::stop_token stop);
  void Write(std::stop_token stop,
             const std::function<bool(const v1alpha1::WorkerMessage&)>& write);

  const std::string target_;
  const MakeHello make_hello_;
  const OnOrder on_order_;
  std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  std::deque<v1alpha1::WorkerMessage> queue_;
  std::map<int, v1alpha1::WorkerMessage> standing_;  // by kind, the order they are said in
  bool writing_ = false;
  grpc::ClientContext* context_ = nullptr;
  std::jthread thread_;
};

}  // namespace freezepipe::worker
