#include "operator/coordinator/attach_service.h"

#include <chrono>
#include <optional>
#include <utility>

#include "operator/coordinator/worker_stream.h"

namespace freezepipe::coordinator {
namespace {

/// A stream must say Hello within this.
constexpr std::chrono::seconds kHelloLimit{10};

/// So long after its election a leader may still come upon jobs.
constexpr std::chrono::seconds kAcquaintance{30};

grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.raw_code()), std::string(status.message())};
}

}  // namespace

void AttachService::Lead() {
  std::lock_guard lock(mutex_);
  standby_ = false;
  leads_since_ = std::chrono::steady_clock::now();
}

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
    if (closing_) {
      stream->Close(grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"));
    } else if (standby_) {
      stream->Close(grpc::Status(grpc::StatusCode::UNAVAILABLE, "this replica doesn't lead"));
    }
  }
  stream->Begin();
  return stream;
}

void AttachService::OnFirstMessage(WorkerStream* stream, v1alpha1::WorkerMessage message) {
  if (!message.has_hello()) {
    return stream->Close({grpc::StatusCode::ABORTED, "the first message must be Hello"});
  }
  v1alpha1::Hello hello = std::move(*message.mutable_hello());
  if (authenticator_ == nullptr) return stream->GoOn(Admit(stream, std::move(hello)));
  const std::optional<std::string> token = stream->BearerToken();
  if (!token) return stream->Close({grpc::StatusCode::UNAUTHENTICATED, "no bearer token came"});
  {
    std::lock_guard lock(mutex_);
    silent_.erase(stream);
    pending_.insert(stream);
  }
  // The stream, and the service with it, may be gone by the time of the answer.
  authenticator_->Authenticate(
      *token, hello, [this, handle = stream->handle(), hello](const absl::Status& checked) {
        std::lock_guard lock(handle->mutex);
        if (handle->stream == nullptr || handle->stream->closed()) return;
        handle->stream->GoOn(checked.ok() ? Admit(handle->stream, hello) : ToGrpc(checked));
      });
}

grpc::Status AttachService::Admit(WorkerStream* stream, v1alpha1::Hello hello) {
  std::lock_guard lock(mutex_);
  const auto job = jobs_.find(hello.job());
  if (job == jobs_.end()) {
    const bool new_here =
        leads_since_ && std::chrono::steady_clock::now() - *leads_since_ < kAcquaintance;
    if (new_here) return {grpc::StatusCode::UNAVAILABLE, "not all jobs are known here yet"};
    return {grpc::StatusCode::NOT_FOUND, "no job \"" + hello.job() + "\" here"};
  }
  silent_.erase(stream);
  pending_.erase(stream);
  stream->job = job->second;
  return job->second->OnHello(stream, std::move(hello));
}

void AttachService::OnClosed(WorkerStream* stream) {
  {
    std::lock_guard lock(mutex_);
    silent_.erase(stream);
    pending_.erase(stream);
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
  for (const std::set<WorkerStream*>* streams : {&silent_, &pending_}) {
    for (WorkerStream* stream : *streams) {
      stream->Close(grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"));
    }
  }
  for (const auto& [name, streams] : jobs_) streams->Close();
}

}  // namespace freezepipe::coordinator
