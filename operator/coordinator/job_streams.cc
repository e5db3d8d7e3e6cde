#include "operator/coordinator/job_streams.h"

#include <utility>

#include "operator/coordinator/worker_stream.h"

namespace freezepipe::coordinator {
namespace {

constexpr char kEnded[] = "the job's session has ended";
constexpr char kReplaced[] = "a newer stream replaced this one";

}  // namespace

JobStreams::JobStreams(std::function<void(Event)> events) : events_(std::move(events)) {}

void JobStreams::Send(int worker, v1alpha1::Order order) {
  std::lock_guard lock(mutex_);
  const auto current = current_.find(worker);
  if (current != current_.end()) current->second->Enqueue(std::move(order));
}

grpc::Status JobStreams::OnHello(WorkerStream* stream, v1alpha1::Hello hello) {
  std::lock_guard lock(mutex_);
  if (closed_) return {grpc::StatusCode::UNAVAILABLE, kEnded};
  const int worker = hello.worker();
  if (auto older = current_.find(worker); older != current_.end()) {
    if (older->second->opened > stream->opened) return {grpc::StatusCode::ABORTED, kReplaced};
    older->second->Close(grpc::Status(grpc::StatusCode::ABORTED, kReplaced));
  }
  stream->worker = worker;
  current_[worker] = stream;
  events_(WorkerAttached{std::move(hello)});
  return grpc::Status::OK;
}

grpc::Status JobStreams::OnMessage(WorkerStream* stream, v1alpha1::WorkerMessage message) {
  std::lock_guard lock(mutex_);
  const auto current = current_.find(stream->worker);
  if (current == current_.end() || current->second != stream) {
    return {grpc::StatusCode::ABORTED, kReplaced};
  }
  events_(WorkerSaid{stream->worker, std::move(message)});
  return grpc::Status::OK;
}

void JobStreams::OnClosed(WorkerStream* stream) {
  std::lock_guard lock(mutex_);
  const auto current = current_.find(stream->worker);
  if (current == current_.end() || current->second != stream) return;
  current_.erase(current);
  events_(StreamLost{stream->worker});
}

void JobStreams::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& [worker, stream] : current_) {
    stream->Close(grpc::Status(grpc::StatusCode::UNAVAILABLE, kEnded));
  }
  current_.clear();
}

}  // namespace freezepipe::coordinator
