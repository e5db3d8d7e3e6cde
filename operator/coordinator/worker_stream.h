#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "freezepipe/v1alpha1/coordinator.grpc.pb.h"

namespace freezepipe::coordinator {

class AttachService;
class JobStreams;
class WorkerStream;

/// A stream that may be gone by the time it is needed.
struct StreamHandle {
  /// Guards stream. Held while it is used, so that it doesn't go meanwhile; taken before the
  /// mutexes of AttachService, JobStreams and WorkerStream.
  std::mutex mutex;
  /// Null once it is gone.
  WorkerStream* stream;
};

/// Orders that may wait for a slow reader; a stream with more is closed, and the worker reattaches.
inline constexpr size_t kMaxQueuedOrders = 256;

/// One worker's stream. gRPC owns it: it deletes itself when the call is done. Thread-safe.
class WorkerStream : public grpc::ServerBidiReactor<v1alpha1::WorkerMessage, v1alpha1::Order> {
 public:
  WorkerStream(AttachService* service, grpc::CallbackServerContext* context);

  /// Starts reading; once the service knows the stream.
  void Begin();
  /// Once its last message took effect: reads the next one, or closes the stream.
  void GoOn(grpc::Status heard);
  /// Queues the order, or closes the stream when too many wait.
  void Enqueue(v1alpha1::Order order);
  void Close(grpc::Status status);
  bool closed() const;

  /// What the call's metadata has as "authorization: Bearer TOKEN".
  std::optional<std::string> BearerToken() const;
  std::shared_ptr<StreamHandle> handle() const { return handle_; }

  /// Both set with the first message, before the next one is read.
  std::shared_ptr<JobStreams> job;
  int worker = 0;
  const std::chrono::steady_clock::time_point opened = std::chrono::steady_clock::now();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  /// Ends the call once no write is under way. mutex_ is held.
  void FinishIfIdle();

  AttachService* const service_;
  grpc::CallbackServerContext* const context_;
  const std::shared_ptr<StreamHandle> handle_;
  /// Touched by the read under way alone.
  v1alpha1::WorkerMessage incoming_;
  /// Guards everything below.
  mutable std::mutex mutex_;
  /// The front one is being written while writing_.
  std::deque<v1alpha1::Order> outgoing_;
  bool writing_ = false;
  std::optional<grpc::Status> closing_;
  bool finished_ = false;
};

}  // namespace freezepipe::coordinator
