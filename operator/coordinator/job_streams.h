#pragma once

#include <grpcpp/support/status.h>

#include <functional>
#include <map>
#include <mutex>

#include "operator/coordinator/job_session.h"
#include "operator/coordinator/order_sink.h"

namespace freezepipe::coordinator {

class WorkerStream;

/// The streams of one job's workers: what they say becomes events, orders go the other way. A
/// worker has one stream at a time; a newer one takes the older's place, and nothing the older says
/// counts any more. Thread-safe; no call blocks.
class JobStreams : public OrderSink {
 public:
  /// `events` is called in the order of each worker's events; it must not block or call back.
  explicit JobStreams(std::function<void(Event)> events);

  void Send(int worker, v1alpha1::Order order) override;

  /// The first message of a stream. Not OK, and the stream is to be closed so, when the job's
  /// streams were closed meanwhile, or the worker has a stream that opened after it.
  grpc::Status OnHello(WorkerStream* stream, v1alpha1::Hello hello);
  /// Each message after it. Not OK when the stream was replaced, or closed.
  grpc::Status OnMessage(WorkerStream* stream, v1alpha1::WorkerMessage message);
  void OnClosed(WorkerStream* stream);

  /// Closes every stream; `events` is not called any more once it returned.
  void Close();

 private:
  const std::function<void(Event)> events_;
  /// Guards everything below, and the order of events. Taken before a stream's own mutex.
  std::mutex mutex_;
  bool closed_ = false;
  std::map<int, WorkerStream*> current_;
};

}  // namespace freezepipe::coordinator
