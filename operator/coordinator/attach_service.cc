#include "operator/coordinator/attach_service.h"

#include <chrono>
#include <utility>

#include "operator/coordinator/worker_stream.h"

namespace freezepipe::coordinator {
namespace {

/// A stream must say Hello within this.
constexpr std::chrono::seconds kHelloLimit{10};

}  // namespace

bool AttachService::Add(const std::string& job, std::shared_ptr<JobStreams> streams) {
  std::lock_guard lock(mutex_);
  return jobs_.emplace(job, std::move(streams)).second;
}

void AttachService::Remove(const std::string& job) {
  std::lock_guard lock(mutex_);
  jobs_.erase(job);
}

grpc::ServerBidiReactor<v1alpha1::WorkerMessage, v1alpha1::Order>* AttachService::Attach(
    grpc::CallbackServerContext* context) {
  auto* stream = new WorkerStream(this, context);
  {
    std::lock_guard lock(mutex_);
    silent_.insert(stream);
    if (closing_) stream->Close(grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"));
  }
  stream->Begin();
  return stream;
}

grpc::Status AttachService::OnMessage(WorkerStream* stream, v1alpha1::WorkerMessage message) {
  if (!stream->job) return OnHello(stream, std::move(message));
  if (stream->job->OnMessage(stream, std::move(message))) return grpc::Status::OK;
  return {grpc::StatusCode::ABORTED, "a newer stream replaced this one"};
}

grpc::Status AttachService::OnHello(WorkerStream* stream, v1alpha1::WorkerMessage message) {
  if (!message.has_hello()) {
    return {grpc::StatusCode::ABORTED, "the first message must be Hello"};
  }
  std::lock_guard lock(mutex_);
  const auto job = jobs_.find(message.hello().job());
  if (job == jobs_.end()) {
    return {grpc::StatusCode::NOT_FOUND, "no job \"" + message.hello().job() + "\" here"};
  }
  silent_.erase(stream);
  stream->job = job->second;
  if (job->second->OnHello(stream, std::move(*message.mutable_hello()))) return grpc::Status::OK;
  return {grpc::StatusCode::UNAVAILABLE, "the job's session has ended"};
}

void AttachService::OnClosed(WorkerStream* stream) {
  {
    std::lock_guard lock(mutex_);
    silent_.erase(stream);
  }
  if (stream->job) stream->job->OnClosed(stream);
}

void AttachService::CloseSilent() {
  const auto now = std::chrono::steady_clock::now();
  std::lock_guard lock(mutex_);
  for (WorkerStream* stream : silent_) {
    if (now - stream->opened >= kHelloLimit) {
      stream->Close(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "no Hello came"));
    }
  }
}

void AttachService::CloseAll() {
  std::lock_guard lock(mutex_);
  closing_ = true;
  for (WorkerStream* stream : silent_) {
    stream->Close(grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"));
  }
  for (const auto& [name, streams] : jobs_) streams->Close();
}

}  // namespace freezepipe::coordinator
