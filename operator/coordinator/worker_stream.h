#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "freezepipe/v1alpha1/coordinator.grpc.pb.h"

namespace freezepipe::coordinator {

class AttachService;
class JobStreams;

/// Orders that may wait for a slow reader; a stream with more is closed, and the worker reattaches.
inline constexpr size_t kMaxQueuedOrders = 256;

/// One worker's stream. gRPC owns it: it deletes itself when the call is done. Thread-safe.
class WorkerStream : public grpc::ServerBidiReactor<v1alpha1::WorkerMessage, v1alpha1::Order> {
 public:
  WorkerStream(AttachService* service, grpc::CallbackServerContext* context);

  /// Starts reading; once the service knows the stream.
  void Begin();
  /// Queues the order, or closes the stream when too many wait.
  void Enqueue(v1alpha1::Order order);
  void Close(grpc::Status status);

  /// Both set with the first message, before the next one is read.
  std::shared_ptr<JobStreams> job;
  int worker = 0;
  const std::chrono::steady_clock::time_point opened = std::chrono::steady_clock::now();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  /// Ends the call once no write is under way. mutex_ is held.
  void FinishIfIdle();

  AttachService* const service_;
  grpc::CallbackServerContext* const context_;
  /// Touched by the read under way alone.
  v1alpha1::WorkerMessage incoming_;
  /// Guards everything below.
  std::mutex mutex_;
  /// The front one is being written while writing_.
  std::deque<v1alpha1::Order> outgoing_;
  bool writing_ = false;
  std::optional<grpc::Status> closing_;
  bool finished_ = false;
};

}  // namespace freezepipe::coordinator
