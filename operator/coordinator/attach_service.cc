#include "operator/coordinator/attach_service.h"

#include <chrono>
#include <utility>

#include "operator/coordinator/worker_stream.h"

namespace freezepipe::coordinator {
namespace {

/// A stream must say Hello within this.
constexpr std::chrono::seconds kHelloLimit{10};

}  // namespace

AttachService::AttachService(std::function<void(Event)> events) : events_(std::move(events)) {}

grpc::ServerBidiReactor<v1alpha1::WorkerMessage, v1alpha1::Order>* AttachService::Attach(
    grpc::CallbackServerContext* context) {
  auto* stream = new WorkerStream(this, context);
  {
    std::lock_guard lock(mutex_);
    streams_.insert(stream);
    if (closing_) stream->Close(grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"));
  }
  stream->Begin();
  return stream;
}

bool AttachService::OnMessage(WorkerStream* stream, v1alpha1::WorkerMessage message) {
  std::lock_guard lock(mutex_);
  if (!stream->worker) {
    if (!message.has_hello()) return false;
    const int worker = message.hello().worker();
    if (auto older = current_.find(worker); older != current_.end()) {
      older->second->Close(grpc::Status(grpc::StatusCode::ABORTED, "replaced by a newer stream"));
    }
    stream->worker = worker;
    current_[worker] = stream;
    events_(WorkerAttached{std::move(*message.mutable_hello())});
    return true;
  }
  if (current_[*stream->worker] != stream) return false;
  events_(WorkerSaid{*stream->worker, std::move(message)});
  return true;
}

void AttachService::OnClosed(WorkerStream* stream) {
  std::lock_guard lock(mutex_);
  streams_.erase(stream);
  if (!stream->worker) return;
  const auto current = current_.find(*stream->worker);
  if (current == current_.end() || current->second != stream) return;
  current_.erase(current);
  events_(StreamLost{*stream->worker});
}

void AttachService::Send(int worker, v1alpha1::Order order) {
  std::lock_guard lock(mutex_);
  const auto current = current_.find(worker);
  if (current != current_.end()) current->second->Enqueue(std::move(order));
}

void AttachService::CloseSilent() {
  const auto now = std::chrono::steady_clock::now();
  std::lock_guard lock(mutex_);
  for (WorkerStream* stream : streams_) {
    if (!stream->worker && now - stream->opened >= kHelloLimit) {
      stream->Close(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "no Hello came"));
    }
  }
}

void AttachService::CloseAll() {
  std::lock_guard lock(mutex_);
  closing_ = true;
  for (WorkerStream* stream : streams_) {
    stream->Close(grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"));
  }
}

}  // namespace freezepipe::coordinator
