#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "freezepipe/v1alpha1/coordinator.grpc.pb.h"
#include "operator/coordinator/job_session.h"
#include "operator/coordinator/order_sink.h"

namespace freezepipe::coordinator {

class WorkerStream;

/// The workers' streams: what they say becomes events, orders go the other way. A worker has one
/// stream at a time; a newer one takes the older's place, and nothing the older says counts any
/// more. Thread-safe; no call blocks.
class AttachService : public v1alpha1::Coordinator::CallbackService, public OrderSink {
 public:
  /// `events` is called in the order of each worker's events; it must not block or call back.
  explicit AttachService(std::function<void(Event)> events);

  grpc::ServerBidiReactor<v1alpha1::WorkerMessage, v1alpha1::Order>* Attach(
      grpc::CallbackServerContext* context) override;

  void Send(int worker, v1alpha1::Order order) override;
  void CloseSilent() override;
  /// Closes every stream, also those that open from now on.
  void CloseAll();

 private:
  friend class WorkerStream;

  /// The stream's next message. False when the stream is to be closed: it lacks a Hello, or was
  /// replaced.
  bool OnMessage(WorkerStream* stream, v1alpha1::WorkerMessage message);
  void OnClosed(WorkerStream* stream);

  const std::function<void(Event)> events_;
  /// Guards everything below, and the order of events. Taken before a stream's own mutex.
  std::mutex mutex_;
  bool closing_ = false;
  std::set<WorkerStream*> streams_;
  std::map<int, WorkerStream*> current_;
};

}  // namespace freezepipe::coordinator
