#include "operator/coordinator/worker_stream.h"

#include <string_view>
#include <utility>

#include "operator/coordinator/attach_service.h"
#include "operator/coordinator/job_streams.h"

namespace freezepipe::coordinator {
namespace {

constexpr std::string_view kBearer = "Bearer ";

}  // namespace

WorkerStream::WorkerStream(AttachService* service, grpc::CallbackServerContext* context)
    : service_(service), context_(context), handle_(std::make_shared<StreamHandle>()) {
  handle_->stream = this;
}

void WorkerStream::Begin() { GoOn(grpc::Status::OK); }

void WorkerStream::GoOn(grpc::Status heard) {
  if (!heard.ok()) return Close(std::move(heard));
  std::lock_guard lock(mutex_);
  // A call that is finished may be gone before a read of it has begun.
  if (closing_) return;
  incoming_.Clear();
  StartRead(&incoming_);
}

std::optional<std::string> WorkerStream::BearerToken() const {
  const auto& metadata = context_->client_metadata();
  const auto found = metadata.find("authorization");
  if (found == metadata.end()) return std::nullopt;
  const std::string_view value(found->second.data(), found->second.size());
  if (!value.starts_with(kBearer)) return std::nullopt;
  return std::string(value.substr(kBearer.size()));
}

void WorkerStream::Enqueue(v1alpha1::Order order) {
  std::lock_guard lock(mutex_);
  if (closing_) return;
  if (outgoing_.size() >= kMaxQueuedOrders) {
    closing_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many unread orders");
    context_->TryCancel();
    FinishIfIdle();
    return;
  }
  outgoing_.push_back(std::move(order));
  if (writing_) return;
  writing_ = true;
  StartWrite(&outgoing_.front());
}

void WorkerStream::Close(grpc::Status status) {
  std::lock_guard lock(mutex_);
  if (closing_) return;
  closing_ = std::move(status);
  // A write that waits for a reader ends only so.
  if (writing_) context_->TryCancel();
  FinishIfIdle();
}

bool WorkerStream::closed() const {
  std::lock_guard lock(mutex_);
  return closing_.has_value();
}

void WorkerStream::FinishIfIdle() {
  if (writing_ || finished_) return;
  finished_ = true;
  Finish(*closing_);
}

void WorkerStream::OnReadDone(bool ok) {
  if (!ok) {
    // The worker has said all. An order under way may still reach it: not cancelled, as Close
    // would.
    std::lock_guard lock(mutex_);
    if (!closing_) closing_ = grpc::Status::OK;
    FinishIfIdle();
    return;
  }
  if (closed()) return;
  if (!job) return service_->OnFirstMessage(this, std::move(incoming_));
  GoOn(job->OnMessage(this, std::move(incoming_)));
}

void WorkerStream::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  outgoing_.pop_front();
  writing_ = false;
  if (!ok && !closing_) closing_ = grpc::Status::CANCELLED;
  if (closing_) {
    FinishIfIdle();
  } else if (!outgoing_.empty()) {
    writing_ = true;
    StartWrite(&outgoing_.front());
  }
}

void WorkerStream::OnCancel() {
  // Nothing is read while its Hello is checked: its end is heard of only so.
  Close(grpc::Status::CANCELLED);
}

void WorkerStream::OnDone() {
  {
    std::lock_guard lock(handle_->mutex);
    handle_->stream = nullptr;
  }
  service_->OnClosed(this);
  delete this;
}

}  // namespace freezepipe::coordinator
